// Draining the node: asked for in a dialog, then shown until the node has ended.
import { $, say } from "./dom.js";
import { count } from "./format.js";

let last = null; // the last snapshot
let most = 0; // connections when the drain began
let phase = ""; // "", "asked", "draining", "ended"

$("drain").addEventListener("click", () => {
  say($("drain-what"), last ? `${last.node.instance} has ${count(last.live.connections)} connections of ${count(last.live.users)} users.` : "");
  $("drain-dialog").showModal();
});

$("drain-dialog").addEventListener("close", async () => {
  if ($("drain-dialog").returnValue !== "yes" || phase) return;
  phase = "asked";
  try {
    const answer = await fetch("/v1/drain", { method: "POST" });
    if (!answer.ok) throw new Error((await answer.json()).detail);
  } catch (e) {
    phase = "";
    $("drained").hidden = false;
    say($("drained-text"), `The node did not take it: ${e.message}.`);
    return;
  }
  begin();
});

function begin() {
  phase = "draining";
  most = last?.live.connections ?? 0;
  $("drained").hidden = false;
  $("drain").disabled = true;
  step(most);
}

function reset() {
  phase = "";
  $("drained").hidden = true;
  $("drain").disabled = false;
  say($("drained-title"), "Draining");
}

function step(left) {
  most = Math.max(most, left);
  $("drained-bar").value = most ? 1 - left / most : 1;
  say($("drained-text"), left ? `${count(left)} of ${count(most)} clients are still to be sent away.` : "All clients are away; history is being written.");
}

/**
 * Hears each snapshot, or null when the node does not answer. Tells whether that
 * is because it was drained.
 */
export function draining(s) {
  if (s) {
    last = s;
    if (phase === "ended") reset(); // it was started again
    if (!phase && s.node.state === "draining") begin(); // somebody else asked
    if (phase === "draining") step(s.live.connections);
    return true;
  }
  if (phase !== "draining" && phase !== "ended") return false;
  phase = "ended";
  say($("drained-title"), "Drained");
  $("drained-bar").value = 1;
  say($("drained-text"), "The node has ended. This page goes on when it is started again.");
  return true;
}
