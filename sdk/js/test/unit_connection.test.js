import assert from "node:assert/strict";
import { test } from "node:test";
import { BERLIN, CONFIG, fakeClient, settle } from "./fakes.js";

test("J4: the first frame is connect, with the token, the device and the radius", async () => {
  const w = fakeClient({ device: "phone", radius_m: 500 });
  w.client.start();
  await settle();
  assert.equal(w.ws.url, "ws://kith.test/v1/ws");
  assert.equal(w.ws.protocol, "kith.v1.json");
  assert.deepEqual(w.ws.sent, []);
  w.ws.accept();
  assert.deepEqual(w.ws.sent, [{ type: "connect", token: "a token", device: "phone", radius_m: 500 }]);
  assert.equal(w.client.state, "connecting");
});

test("URLs may be given as pages know them", async () => {
  for (const [given, used] of [
    ["http://kith.test:8080", "ws://kith.test:8080/v1/ws"],
    ["https://kith.test/", "wss://kith.test/v1/ws"],
    ["wss://kith.test/behind/a/path", "wss://kith.test/behind/a/path"],
    ["https://kith.test/#token=secret", "wss://kith.test/v1/ws"],
  ]) {
    const w = fakeClient({ url: given });
    w.client.start();
    await settle();
    assert.equal(w.ws.url, used);
  }
  assert.throws(() => fakeClient({ url: "kith" }), TypeError);
  assert.throws(() => fakeClient({ token: "text" }), /function/);
  assert.throws(() => fakeClient({ WebSocket: null }), /WebSocket/);
  for (const bad of [{ buffer: 0 }, { buffer: NaN }, { perS: "fast" }]) assert.throws(() => fakeClient(bad), RangeError);
});

test("J5: one socket and one set of listeners, however often it is started and stopped", async () => {
  const w = fakeClient();
  w.client.start();
  w.client.start();
  await settle();
  w.client.start();
  assert.equal(w.WebSocket.made.length, 1);
  assert.equal(w.page.listeners, 3);
  await w.welcome();
  w.client.start();
  await settle();
  assert.equal(w.WebSocket.made.length, 1);
  w.ws.hangUp(1006);
  assert.equal(w.client.state, "waiting");
  w.client.start();
  await settle();
  assert.equal(w.WebSocket.made.length, 1, "the pause goes on");
  w.page.happen("online");
  w.page.happen("online");
  await w.clock.pass(30_000);
  assert.ok(w.WebSocket.living <= 1);
  assert.equal(w.page.listeners, 3);

  await w.client.close();
  assert.equal(w.page.listeners, 0);
  assert.equal(w.WebSocket.living, 0);
  const before = w.WebSocket.made.length;
  await w.clock.pass(600_000);
  assert.equal(w.WebSocket.made.length, before);
  assert.equal(w.clock.waiting, 0, "no timer is left");
  w.client.start();
  w.client.close();
  w.client.start();
  w.client.close();
  w.client.start();
  await w.welcome();
  assert.equal(w.WebSocket.living, 1);
  assert.equal(w.page.listeners, 3);
  assert.equal(w.client.state, "open");
});

test("J5: events in a row do not make several connections", async () => {
  const w = fakeClient();
  await w.open();
  w.ws.hangUp(1006);
  for (let i = 0; i < 3; i++) {
    await w.clock.pass(100);
    w.page.happen("online");
    w.page.happen("visibilitychange");
  }
  await w.clock.pass(5000);
  assert.equal(w.WebSocket.made.length, 2);
});

test("J5: what a connection that was given up says is not heard", async () => {
  const w = fakeClient();
  await w.open();
  const old = w.ws;
  await w.client.close();
  w.client.start();
  await w.welcome();
  w.told.length = 0;
  old.say({ type: "ack", seq: 1 });
  old.hangUp(4003);
  assert.deepEqual(w.told, []);
  assert.equal(w.client.state, "open");
});

test("J5: closed while the token is fetched: nothing is opened", async () => {
  let give, fail;
  const w = fakeClient({ token: () => new Promise((resolve, reject) => ([give, fail] = [resolve, reject])) });
  w.client.start();
  await w.client.close();
  give("late");
  await w.clock.pass(60_000);
  w.client.start();
  await w.client.close();
  fail(new Error("late"));
  await w.clock.pass(60_000);
  assert.deepEqual(w.take("error"), []);
  assert.equal(w.WebSocket.made.length, 0);
  assert.equal(w.clock.waiting, 0);
});

test("J4: after every close code the client does what it asks for", async () => {
  const stops = [1002, 1007, 1009, 4000, 4001, 4003, 4004, 4005, 4099];
  const backs = [1000, 1001, 1005, 1006, 1011, 3000, 4100, 4101, 4102, 4103, 4104, 4199, 4300];
  const atOnce = [4200, 4299];
  for (const code of [...stops, ...backs, ...atOnce]) {
    const w = fakeClient();
    await w.open();
    w.ws.hangUp(code, "a sentence");
    const said = w.take("state").at(-1);
    assert.equal(said.code, code);
    assert.equal(said.reason, "a sentence");
    if (stops.includes(code)) {
      assert.equal(said.state, "closed", `${code}`);
      await w.clock.pass(3_600_000);
      assert.equal(w.WebSocket.made.length, 1, `${code}`);
    } else {
      const pause = atOnce.includes(code) ? 0 : 250; // half of 500 ms
      assert.deepEqual([said.state, said.retryInMs], ["waiting", pause], `${code}`);
      if (pause > 0) await w.clock.pass(pause - 1);
      assert.equal(w.WebSocket.made.length, 1, `${code}`);
      await w.clock.pass(1);
      assert.equal(w.WebSocket.made.length, 2, `${code}`);
    }
  }
});

test("J4: 4002 means a fresh token, once", async () => {
  const tokens = ["first", "second", "third"];
  const w = fakeClient({ token: async () => tokens.shift() });
  await w.open();
  w.ws.hangUp(4002);
  await w.clock.pass(250);
  w.ws.accept();
  assert.equal(w.ws.sent[0].token, "second");
  w.ws.hangUp(4002);
  assert.equal(w.client.state, "closed");

  const again = fakeClient({ token: () => `token ${(tokens.n = (tokens.n ?? 0) + 1)}` });
  await again.open();
  for (let i = 0; i < 3; i++) {
    again.ws.hangUp(4002);
    await again.clock.pass(60_000 * 2 - 1);
    await again.welcome();
    assert.equal(again.client.state, "open", "each of them worked for a while");
    await again.clock.pass(1);
  }

  const same = fakeClient();
  await same.open();
  same.ws.hangUp(4002);
  await same.clock.pass(60_000);
  assert.equal(same.WebSocket.made.length, 1, "the same token would be refused again");
  assert.equal(same.client.state, "closed");
});

test("J4: 4003 soon after a connection was given up may be that one's doing, once", async () => {
  const w = fakeClient();
  await w.open();
  const silence = async () => {
    await w.clock.pass(35_000);
    assert.equal(w.take("state").at(-1).reason, "the server fell silent");
  };
  await silence();
  await w.clock.pass(250);
  await w.welcome();
  w.ws.hangUp(4003);
  assert.deepEqual(w.take("state").at(-1), { state: "waiting", code: 4003, reason: "", retryInMs: 500 });
  await w.clock.pass(500);
  await w.welcome();
  w.ws.hangUp(4003);
  assert.equal(w.client.state, "closed", "not twice");

  w.client.start();
  await w.welcome();
  await silence();
  await w.clock.pass(20_000);
  w.ws.accept();
  w.ws.say({ type: "connected", user: "alice", session: 1, config: CONFIG });
  for (let s = 0; s < 60; s++) {
    await w.clock.pass(1000);
    w.ws.say({ type: "ping" });
  }
  w.ws.hangUp(4003);
  assert.equal(w.client.state, "closed", "a minute later it is somebody else's");
});

test("J4: retry_after_ms of a drain is obeyed once, and nothing hurries it", async () => {
  const w = fakeClient();
  await w.open();
  w.ws.say({ type: "drain", retry_after_ms: 7000, reason: "an update" });
  w.ws.hangUp(4100);
  assert.deepEqual(w.take("drain"), [{ type: "drain", retry_after_ms: 7000, reason: "an update" }]);
  assert.equal(w.take("state").at(-1).retryInMs, 7000);
  w.page.happen("online");
  await w.clock.pass(6999);
  assert.equal(w.WebSocket.made.length, 1);
  await w.clock.pass(1);
  assert.equal(w.WebSocket.made.length, 2);
  w.ws.hangUp(1006);
  assert.equal(w.take("state").at(-1).retryInMs, 500);
});

test("a token function that fails, hangs or gives nothing is asked again after a pause", async () => {
  const answers = [() => Promise.reject(new Error("no network")), () => { throw new Error("a bug"); }, () => "", () => undefined, () => new Promise(() => {}), () => "a token"];
  const w = fakeClient({ token: () => (answers.shift() ?? (() => "a token"))() });
  w.client.start();
  await w.clock.pass(120_000);
  const errors = w.take("error");
  assert.deepEqual(errors.map(({ code, temporary }) => [code, temporary]), Array(5).fill(["token", true]));
  assert.match(errors[0].message, /no network/);
  assert.match(errors[4].message, /15000 ms/);
  assert.equal(w.WebSocket.made.length > 0, true);
});

test("expiring: a fresh token goes out on the same connection", async () => {
  const tokens = ["first", "second"];
  const w = fakeClient({ token: () => tokens.shift() });
  await w.open();
  w.ws.say({ type: "expiring" });
  await settle();
  const [frame] = w.ws.take("token");
  assert.equal(frame.token, "second");
  w.ws.say({ type: "ok", id: frame.id });
  await settle();
  assert.deepEqual(w.take("error"), []);
  assert.equal(w.WebSocket.made.length, 1);

  w.ws.say({ type: "expiring" });
  await settle();
  assert.equal(w.take("error")[0].code, "token", "there is no third");
  assert.equal(w.client.state, "open");

  let fail;
  tokens.push(new Promise((resolve, reject) => (fail = reject)));
  w.ws.say({ type: "expiring" });
  await w.client.close();
  fail(new Error("late"));
  await settle();
  assert.deepEqual(w.take("error"), [], "nobody needs it any more");
});

test("J6: a ping is answered; a server that has vanished is noticed; one that is quiet is asked first", async () => {
  const w = fakeClient();
  await w.open();
  w.ws.say({ type: "ping" });
  assert.deepEqual(w.ws.take("pong"), [{ type: "pong" }]);
  await w.clock.pass(26_999);
  assert.deepEqual(w.ws.take("token"), [], "25 s and a bit are normal");
  await w.clock.pass(1);
  const [probe] = w.ws.take("token");
  assert.ok(probe, "it is asked for a sign of life");
  await w.clock.pass(7999);
  w.ws.say({ type: "ok", id: probe.id });
  await w.clock.pass(1);
  assert.equal(w.client.state, "open");

  await w.clock.pass(27_000 + 8000 - 2);
  assert.equal(w.client.state, "open");
  await w.clock.pass(1);
  assert.equal(w.client.state, "waiting");
  assert.deepEqual([w.take("state").at(-1).code, w.ws.closedWith], [1006, 1000]);
  assert.equal(w.WebSocket.living, 0);
});

test("J6: any frame counts, and ping_s is the server's", async () => {
  const w = fakeClient();
  await w.open({ config: { ...CONFIG, ping_s: 1 } });
  for (let i = 0; i < 100; i++) {
    await w.clock.pass(2900);
    w.ws.say({ type: "something new" });
  }
  assert.equal(w.WebSocket.made.length, 1);
  assert.deepEqual(w.ws.take("token"), []);
  await w.clock.pass(3000);
  assert.equal(w.ws.take("token").length, 1);
});

test("J6: a page that was frozen asks before it gives up", async () => {
  const w = fakeClient();
  await w.open();
  w.clock.freeze(3_600_000);
  await w.clock.pass(0);
  assert.equal(w.client.state, "open");
  assert.equal(w.ws.take("token").length, 1);
  w.ws.say({ type: "ping" }); // it was in the queue
  await w.clock.pass(8000);
  assert.equal(w.client.state, "open");
});

test("J6: a clock that is set back delays it by one silence at most", async () => {
  const w = fakeClient();
  await w.open();
  w.clock.set(-3_600_000);
  await w.clock.pass(27_000 * 2 + 8000);
  assert.equal(w.client.state, "waiting");
});

test("J6: network and page events make it look at once", async () => {
  for (const name of ["online", "offline", "visibilitychange"]) {
    const w = fakeClient();
    await w.open();
    w.page.happen(name);
    w.page.happen(name);
    assert.equal(w.ws.take("token").length, 1, name);
    await w.clock.pass(8000);
    assert.equal(w.client.state, "waiting", name);

    for (let i = 0; i < 8; i++) {
      await w.clock.pass(20_000);
      w.ws.hangUp(1006);
    }
    const made = w.WebSocket.made.length;
    w.page.happen(name);
    await w.clock.pass(250);
    assert.equal(w.WebSocket.made.length - made, name === "offline" ? 0 : 1, name);
  }
  const hidden = fakeClient();
  await hidden.open();
  hidden.page.document.visibilityState = "hidden";
  hidden.page.happen("visibilitychange");
  assert.deepEqual(hidden.ws.take("token"), []);
});

test("a handshake or a welcome that does not come ends after 20 s", async () => {
  const w = fakeClient();
  w.client.start();
  await w.clock.pass(19_999);
  assert.equal(w.client.state, "connecting");
  await w.clock.pass(1);
  assert.equal(w.client.state, "waiting");
  await w.clock.pass(250);
  w.ws.accept();
  await w.clock.pass(20_000);
  assert.equal(w.client.state, "waiting");
  assert.equal(w.WebSocket.living, 0);
});

test("what is not by the protocol ends the connection, what is unknown does not", async () => {
  for (const frame of ["{", "null", "[1", '{"type":"friends","v":1,"full":true,"near":7,"gone":[]}']) {
    const w = fakeClient();
    await w.open();
    w.ws.say(frame);
    assert.equal(w.client.state, "waiting", frame);
    assert.match(w.take("state").at(-1).reason, /not by the protocol/);
  }
  const w = fakeClient();
  await w.open();
  for (const frame of ["{}", "7", '{"type":"strangers","near":[]}', '{"type":"ack"}', '{"type":"ok","id":"no such"}', '{"type":"connected"}']) w.ws.say(frame);
  assert.equal(w.client.state, "open");
});

test("an error before the welcome: a bad radius is left out, other fields end it", async () => {
  const w = fakeClient({ radius_m: 1 });
  w.client.start();
  await settle();
  w.ws.accept();
  const bad = { type: "error", code: "bad_field", field: "radius_m", message: "too small", temporary: false };
  w.ws.say(bad);
  assert.deepEqual(w.ws.sent.at(-1), { type: "connect", token: "a token" });
  assert.deepEqual(w.take("error").map(({ code, field, message }) => [code, field, message]), [["bad_field", "radius_m", "too small"]]);
  w.ws.say({ ...bad, field: "device", message: "no good" });
  assert.deepEqual(w.take("state").at(-1), { state: "closed", code: 0, reason: "no good", retryInMs: undefined });

  const later = fakeClient();
  later.client.start();
  await settle();
  later.ws.accept();
  later.ws.say({ type: "error", code: "unavailable", message: "later", temporary: true });
  assert.equal(later.client.state, "connecting", "a close follows");
});

test("J5: handlers may close the client, whatever it is about to do", async () => {
  const events = {
    state: (w) => w.client.start(),
    connected: async (w) => w.open(),
    pending: async (w) => (await w.open(), w.client.fix(BERLIN)),
    ack: async (w) => (await w.open(), w.ws.say({ type: "ack", seq: 1 })),
    drain: async (w) => (await w.open(), w.ws.say({ type: "drain", retry_after_ms: 1 })),
    error: async (w) => {
      w.client.start();
      await settle();
      w.ws.accept();
      w.ws.say({ type: "error", code: "bad_field", field: "radius_m", message: "no", temporary: false });
    },
  };
  for (const [event, provoke] of Object.entries(events)) {
    const w = fakeClient({ radius_m: 1 });
    w.client.on(event, () => w.client.close());
    await provoke(w);
    await w.clock.pass(600_000);
    assert.equal(w.client.state, "closed", event);
    assert.deepEqual([w.WebSocket.living, w.clock.waiting, w.page.listeners], [0, 0, 0], event);
  }
});

test("an address that no WebSocket can be made for ends it", async () => {
  const w = fakeClient({ WebSocket: class { constructor() { throw new SyntaxError("mixed content"); } } });
  w.client.start();
  await settle();
  assert.deepEqual(w.take("state").at(-1), { state: "closed", code: 0, reason: "mixed content", retryInMs: undefined });
  assert.equal(w.clock.waiting, 0);
  assert.equal(w.page.listeners, 0);
});

test("a handler that throws disturbs nobody else, and is reported", async () => {
  const w = fakeClient();
  const thrown = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => thrown.push(error.message));
  try {
    const off = w.client.on("pending", () => { throw new Error("of the page"); });
    w.client.view.subscribe(() => { throw new Error("of the view"); });
    const seen = [];
    w.client.on("pending", (n) => seen.push(n));
    await w.open();
    w.client.fix(BERLIN);
    w.ws.say({ type: "friends", v: 1, full: true, near: [], gone: [] });
    await settle();
    off();
    off();
    w.client.fix(BERLIN);
    assert.deepEqual(seen.slice(-2), [1, 2]);
    assert.equal(w.client.state, "open");
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  }
  assert.ok(thrown.includes("of the page") && thrown.includes("of the view"), `${thrown}`);
});

test("requests: answered by id, refused with the server's words, late, lost, too many", async () => {
  const w = fakeClient();
  await assert.rejects(w.client.friend("request", "bob"), { code: "not_connected", temporary: true });
  await w.open();
  const asked = w.client.friend("request", "bob");
  const shared = w.client.share({ mode: "area" });
  const [friend] = w.ws.take("friend");
  const [share] = w.ws.take("share");
  assert.deepEqual(friend, { type: "friend", op: "request", user: "bob", id: friend.id });
  assert.deepEqual(share, { type: "share", mode: "area", id: share.id });
  w.ws.say({ type: "ok", id: share.id });
  w.ws.say({ type: "error", id: friend.id, code: "not_found", message: "There is no bob.", field: "user", temporary: false });
  await shared;
  await assert.rejects(asked, { name: "KithError", code: "not_found", field: "user", message: "There is no bob.", temporary: false });
  assert.deepEqual(w.take("error"), [], "who asked was told");

  const late = w.client.friend("accept", "bob");
  const failed = assert.rejects(late, { code: "timeout", temporary: true });
  await w.clock.pass(10_000);
  await failed;

  const many = Array.from({ length: 64 }, () => w.client.friend("accept", "bob"));
  await assert.rejects(w.client.friend("accept", "bob"), { code: "too_many" });
  w.ws.hangUp(1006);
  for (const lost of await Promise.allSettled(many)) assert.equal(lost.reason.code, "not_connected");
});

test("a radius holds for later connections; one that is refused does not", async () => {
  const w = fakeClient();
  await w.client.setRadius(300);
  await w.open();
  assert.equal(w.ws.sent[0].radius_m, 300);
  const set = w.client.setRadius(900);
  w.ws.say({ type: "ok", id: w.ws.take("radius")[0].id });
  await set;
  const refused = w.client.setRadius(1);
  w.ws.say({ type: "error", id: w.ws.take("radius")[0].id, code: "bad_field", field: "radius_m", message: "no", temporary: false });
  await assert.rejects(refused, { code: "bad_field" });
  w.ws.hangUp(1006);
  await w.clock.pass(250);
  w.ws.accept();
  assert.equal(w.ws.sent[0].radius_m, 900);
  await w.client.setRadius(1200);
  w.ws.say({ type: "connected", user: "alice", node: "n1", session: 1, now: 0, config: CONFIG });
  assert.equal(w.ws.take("radius")[0].radius_m, 1200, "changed between hello and welcome");
});
