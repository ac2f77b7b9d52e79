// What the node says about the page: {dev, tiles: {url, attribution}}.
const meta = document.querySelector('meta[name="kith-config"]');

export const config = JSON.parse(meta?.content || "{}");

/** The address of the node's WebSocket: the page's own host. */
export const socketURL = () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/ws`;
