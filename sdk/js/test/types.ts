// Compiled by unit_types.test.js and never run: the declarations as a user of
// TypeScript meets them.

import { KithClient, KithError, indexedDBStorage, type FixStorage, type Near, type Options } from "../kith.js";

const memory: FixStorage = {
  async load(user: string, device: string) {
    return { fixes: [{ seq: 1, lat: 0, lng: 0, ts: 1 }], seq: user.length + device.length };
  },
  async save() {},
};

const options: Options = { url: new URL("wss://kith.test"), token: async () => "token", storage: memory };
const client = new KithClient(options);
new KithClient({ url: "/", token: () => "token", device: "phone", radius_m: 500, storage: null, times: { ping: 1 } });
new KithClient({ url: "/", token: () => "token", storage: indexedDBStorage("name"), WebSocket: globalThis.WebSocket });

export async function use(): Promise<number> {
  client.start();
  const seq: number = client.fix({ lat: 1, lng: 2, acc: null, speed: 3 });
  client.still();
  const off: () => void = client.on("state", ({ state, code, retryInMs }) => {
    if (state === "waiting") console.log((code ?? 0) + (retryInMs ?? 0));
  });
  client.on("error", (error: KithError) => console.log(error.code, error.seq?.toFixed(), error.temporary === true));
  client.on("pending", (n: number) => n.toFixed());
  client.on("ack", ({ seq, next_s }) => seq + (next_s ?? 30));
  client.on("connected", ({ config }) => config.fix_s.toFixed());
  client.on("request", ({ user }) => user.length);
  client.on("friend", ({ op }) => op === "accepted");
  client.on("drain", ({ retry_after_ms }) => retry_after_ms.toFixed());
  const unsubscribe = client.view.subscribe(({ full, entered, updated, gone }) => {
    for (const item of [...entered, ...updated]) console.log(full, item.user, item.distance_m.toFixed());
    for (const { user, reason } of gone) console.log(user, reason === "replaced");
  });
  for (const [user, item] of client.view) console.log(user.length, item.state === "live");
  const near: Near | undefined = client.view.get("bob");
  await client.friend("request", "bob");
  await client.share({ user: "bob", mode: "area", until: 1 });
  await client.setRadius(near?.distance_m ?? 100);
  off();
  unsubscribe();
  await client.close();
  return seq + client.view.size + client.pending + client.dropped + (client.user?.length ?? 0);
}

// What must not compile.
// @ts-expect-error a fix needs lng
client.fix({ lat: 1 });
// @ts-expect-error there is no such event
client.on("open", () => {});
// @ts-expect-error there is no such operation
client.friend("poke", "bob");
// @ts-expect-error a token is a string
new KithClient({ url: "/", token: () => 7 });
// @ts-expect-error the state is read only
client.state = "open";
