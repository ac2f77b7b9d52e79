// Runs in the browser. First visit: fixes without a server. Second: with one.

import { KithClient } from "/kith.js";

const query = new URLSearchParams(location.search);
const report = (what) => fetch("/report", { method: "POST", body: JSON.stringify(what) });
addEventListener("error", ({ message }) => report({ failed: message }));
addEventListener("unhandledrejection", ({ reason }) => report({ failed: String(reason) }));

const first = query.has("first");
const url = first ? "ws://127.0.0.1:9" : query.get("url"); // nothing listens on port 9
const client = new KithClient({ url, token: () => query.get("token"), device: "browser" });
client.on("error", ({ code, message }) => report({ failed: `${code}: ${message}` }));
client.start();
const seqs = [0, 1, 2].map((i) => client.fix({ lat: 52.5 + i * 1e-3, lng: first ? 13.4 : 13.5 }));

if (first) {
  const look = async () => {
    const rows = await new Promise((resolve, reject) => {
      const open = indexedDB.open("kith");
      open.onerror = () => reject(open.error);
      open.onsuccess = () => {
        const all = open.result.transaction("fixes").objectStore("fixes").getAll();
        all.onsuccess = () => {
          open.result.close();
          resolve(all.result);
        };
      };
    });
    if (rows.length < seqs.length) return setTimeout(look, 20);
    // The page is left without a word to the client.
    query.delete("first");
    location.search = query;
  };
  setTimeout(look, 100);
} else {
  client.on("pending", async (n) => {
    if (n > 0) return;
    await client.close();
    report({ done: true, user: client.user, seqs });
  });
}
