/** Degrees, metres, m/s, unix milliseconds; null is "not known". */
export interface FixInput {
  lat: number;
  lng: number;
  /** Radius of 68 %, metres. */
  acc?: number | null;
  /** Metres. */
  alt?: number | null;
  /** m/s. */
  speed?: number | null;
  /** Degrees from north. */
  heading?: number | null;
  /** 0 to 1. */
  battery?: number | null;
  /** Unix milliseconds; absent = now. */
  ts?: number;
  /** A program made this position up. */
  mock?: boolean;
}

/** A fix as it is sent and stored. */
export interface Fix {
  seq: number;
  lat: number;
  lng: number;
  ts: number;
  acc?: number;
  alt?: number;
  speed?: number;
  heading?: number;
  battery?: number;
  mock?: true;
}

/** A friend who is near. */
export interface Near {
  user: string;
  lat: number;
  lng: number;
  ts: number;
  acc?: number;
  distance_m: number;
  bearing_deg: number;
  speed?: number;
  heading?: number;
  battery?: number;
  state: "live" | "idle";
  precision: "exact" | "area";
  /** True only in the message that tells of the entering. */
  entered?: boolean;
}

export interface Gone {
  user: string;
  /** "replaced": a new full view does not have the friend, and the server did not say why. */
  reason: "away" | "stale" | "offline" | "hidden" | "unfriended" | "replaced";
}

export interface ViewChange {
  /** The view was replaced as a whole, as after a reconnect; the lists are the difference. */
  full: boolean;
  /** Not in the view before. */
  entered: Near[];
  /** In the view before and after. */
  updated: Near[];
  gone: Gone[];
}

export interface View extends Iterable<[string, Near]> {
  readonly size: number;
  get(user: string): Near | undefined;
  has(user: string): boolean;
  /** Returns what ends the subscription. */
  subscribe(fn: (change: ViewChange) => void): () => void;
}

export type State = "idle" | "connecting" | "open" | "waiting" | "closed";

export interface StateChange {
  state: State;
  /** Of the last end, with "waiting" and "closed"; 0 = this side refused to go on. */
  code?: number;
  reason?: string;
  /** With "waiting". */
  retryInMs?: number;
}

export interface Connected {
  user: string;
  node: string;
  session: number;
  now: number;
  config: {
    radius_m: number;
    exit_radius_m: number;
    fix_s: number;
    stale_s: number;
    ping_s: number;
    max_frame_bytes: number;
  };
}

export interface Events {
  state: StateChange;
  connected: Connected;
  ack: { seq: number; next_s?: number };
  error: KithError;
  request: { user: string };
  friend: { user: string; op: "accepted" | "removed" };
  drain: { retry_after_ms: number; reason: string };
  /** How many fixes are not acknowledged. */
  pending: number;
}

export class KithError extends Error {
  constructor(code: string, message: string, more?: { field?: string; temporary?: boolean; seq?: number });
  /**
   * A code of the server, or of this side: "not_connected", "timeout", "too_many"
   * (requests), "token" (the function gave none), "storage" (given up; fixes are
   * kept in memory only).
   */
  code: string;
  field?: string;
  /** The same may succeed later. A fix refused like this is sent again by itself. */
  temporary: boolean;
  /** Of the fix that was refused. */
  seq?: number;
}

/** Where unacknowledged fixes are kept over restarts. */
export interface FixStorage {
  load(user: string, device: string): Promise<{ fixes: Fix[]; seq: number }>;
  save(user: string, device: string, change: { put: Fix[]; remove: number[]; seq: number }): Promise<void>;
}

/** A storage in IndexedDB, in the database of that name. */
export function indexedDBStorage(name?: string, indexedDB?: IDBFactory): FixStorage;

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(timer: any): void;
}

/** Milliseconds. For tests, which run the same code at a smaller scale. */
export interface Times {
  connect: number;
  token: number;
  storage: number;
  request: number;
  repeat: number;
  slack: number;
  pong: number;
  backoff: number;
  backoffMost: number;
  stable: number;
  /** Instead of what the server says. */
  ping: number;
}

export interface Options {
  /** ws://, wss://, http:// or https://; without a path it is /v1/ws. */
  url: string | URL;
  /** Called for each connection, and before a token ends. */
  token: () => string | Promise<string>;
  /** 1 to 64 printable ASCII characters; absent = the server's "default". */
  device?: string;
  /** Metres; absent = the server's. */
  radius_m?: number;
  /** Absent = IndexedDB where there is one; null = memory only. */
  storage?: FixStorage | null;
  /** Of the database; absent = "kith". */
  name?: string;
  /** Fixes kept without an acknowledgement; at least 1; absent = 10 000. */
  buffer?: number;
  /** Frames with fixes a second, for long, at least 1; absent = 4, and the server's default limit is 5. */
  perS?: number;
  /** Absent = the global one. Node 20 has none. */
  WebSocket?: new (url: string, protocol: string) => any;
  clock?: Clock;
  /** In [0, 1). */
  random?: () => number;
  /** Where online, offline and visibilitychange come from; absent = globalThis. */
  page?: any;
  times?: Partial<Times>;
}

/** One device of one user: one connection, which comes back by itself. */
export class KithClient {
  constructor(options: Options);
  readonly state: State;
  readonly view: View;
  /** The user, once known. */
  readonly user: string | undefined;
  /** How many fixes are not acknowledged. */
  readonly pending: number;
  /** How many fixes found no room in the buffer. */
  readonly dropped: number;
  /** Connects, and keeps connected until close(). A second call changes nothing. */
  start(): void;
  /** Ends the connection. Resolves once what is unacknowledged is stored. */
  close(): Promise<void>;
  /** Queues one position report and returns its seq. Throws for what is not a finite number. */
  fix(fix: FixInput): number;
  /** Says that the device has not moved. Without a connection it says nothing later. */
  still(): void;
  /** Sees as far as that from now on, also over later connections. */
  setRadius(metres: number): Promise<void>;
  friend(op: "request" | "accept" | "decline" | "remove" | "block" | "unblock", user: string): Promise<void>;
  /** How one friend (absent = everyone) sees this user; until in unix ms (absent = no end). */
  share(share: { user?: string; mode: "exact" | "area" | "none"; until?: number }): Promise<void>;
  /** Returns what ends the subscription. */
  on<E extends keyof Events>(event: E, fn: (value: Events[E]) => void): () => void;
}
