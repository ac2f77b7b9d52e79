// One connection, from the handshake to its end.

/** Ended by this side, without a close frame of the server. */
export const LOST = 1006;

/**
 * A WebSocket that ends once, also when the other side has vanished without a
 * word. opt: WebSocket, clock, times, and opened(), frame(message), probe()
 * and ended(code, reason, gaveUp); gaveUp: this side ended it, and the server may
 * not know.
 */
export class Socket {
  #opt;
  #ws;
  #timer;
  #over = false;
  #ping = 0; // ms of silence that are normal; 0 = not welcomed yet
  #heard = 0;
  #probed = null;

  constructor(url, opt) {
    this.#opt = opt;
    this.#ws = new opt.WebSocket(url, "kith.v1.json");
    this.#timer = opt.clock.setTimeout(() => this.#giveUp("there was no answer in time"), opt.times.connect);
    this.#ws.onopen = () => opt.opened();
    this.#ws.onmessage = ({ data }) => this.#take(data);
    this.#ws.onclose = ({ code, reason }) => this.#end(code, reason, false);
    this.#ws.onerror = () => {}; // a close follows, and says more
  }

  /** Sends an object, or text that is a frame already. */
  send(frame) {
    this.#ws.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** From now on a silence of ping ms and a bit is looked into. */
  watch(ping) {
    this.#opt.clock.clearTimeout(this.#timer);
    this.#ping = ping;
    this.#heard = this.#opt.clock.now();
    this.#look();
  }

  /** Finds out now whether the other side is there. */
  check() {
    if (this.#ping === 0 || this.#probed !== null) return;
    this.#opt.clock.clearTimeout(this.#timer);
    this.#probe();
  }

  /** Ends the connection from this side. After that nobody is called. */
  close() {
    this.#over = true;
    this.#opt.clock.clearTimeout(this.#timer);
    this.#ws.onopen = this.#ws.onmessage = this.#ws.onclose = null;
    try {
      this.#ws.close(1000);
    } catch {
      // It was never open.
    }
  }

  #end(code, reason, gaveUp) {
    if (this.#over) return;
    this.close();
    this.#opt.ended(code, reason, gaveUp);
  }

  #giveUp(reason) {
    this.#end(LOST, reason, true);
  }

  #take(data) {
    this.#heard = this.#opt.clock.now();
    this.#probed = null;
    try {
      this.#opt.frame(JSON.parse(data));
    } catch (error) {
      this.#giveUp(`the server sent what is not by the protocol: ${error.message}`);
    }
  }

  // The server pings a client that is silent, and a frame that it need not answer
  // keeps it from that. So its own silence alone proves nothing: it is asked first.
  // That also gives what has arrived while this page was frozen time to be read.
  #look() {
    const { clock, times } = this.#opt;
    this.#heard = Math.min(this.#heard, clock.now()); // the clock may have been set back
    const left = this.#heard + this.#ping + times.slack - clock.now();
    if (left > 0) this.#timer = clock.setTimeout(() => this.#look(), left);
    else this.#probe();
  }

  #probe() {
    const { clock, times } = this.#opt;
    this.#probed = clock.now();
    this.#timer = clock.setTimeout(() => {
      if (this.#probed === null) this.#look();
      else this.#giveUp("the server fell silent");
    }, times.pong);
    this.#opt.probe();
  }
}
