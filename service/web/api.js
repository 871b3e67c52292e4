/**
 * Requests to the service, as its contract asks: every POST has an `Idempotency-Key` and is sent again, the same, until
 * it is answered; tokens travel in `Authorization` only.
 */

const BASE = new URL("v1/", document.baseURI);
const ANSWER_WITHIN_MS = 10_000;
const LONGEST_PAUSE_MS = 30_000;

/** The service has refused: `code` says why, `game` is the current view of a version conflict. */
export class Problem extends Error {
  constructor(body, status) {
    super(body.detail ?? `HTTP ${status}`);
    this.code = body.code ?? "internal";
    this.status = status;
    this.errors = body.errors ?? [];
    this.game = body.game ?? null;
  }
}

/** No answer has come, or one that says nothing about the request; `afterMs` is the service's own wish. */
class Unanswered extends Error {
  constructor(afterMs = 0) {
    super("no answer");
    this.afterMs = afterMs;
  }
}

/** A fresh key for one thing that the person does. Not `randomUUID`, which plain HTTP in a home network lacks. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return btoa(String.fromCharCode(...bytes));
}

/** One GET, not repeated. *withinMs*: how long the answer may take. */
export function get(path, token, { signal, withinMs = ANSWER_WITHIN_MS } = {}) {
  return once("GET", path, { token, signal, withinMs });
}

/** A GET that is repeated until it is answered. */
export function getPatiently(path, token, signal) {
  return patiently(() => get(path, token, { signal }), signal);
}

/** A POST that is repeated until it is answered. */
export function post(path, body, { token, key = newKey(), apiKey, signal, waits } = {}) {
  const headers = { "Idempotency-Key": key, ...(apiKey ? { "X-API-Key": apiKey } : {}) };
  return patiently(() => once("POST", path, { token, body: body ?? {}, headers, signal }), signal, waits);
}

export function remove(path, token) {
  return patiently(() => once("DELETE", path, { token }));
}

/** The open response of a GET whose body comes bit by bit. */
export async function open(path, token, headers, signal) {
  const response = await fetch(new URL(path, BASE), {
    headers: { ...authorization(token), ...headers },
    cache: "no-store",
    signal,
  });
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Ends after *ms*, or as soon as the network is back. */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      signal?.removeEventListener("abort", end);
      signal?.aborted ? reject(signal.reason) : resolve();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener("online", end);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}

/**
 * How long to wait before the next try, after so many failures: one second to two, then two to four, at most 30. By
 * chance, or all who sit at tables of a service that comes back would ask at once.
 */
export function backoff(failures) {
  return Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** (failures - 1) * (1 + Math.random()));
}

/** *waits* is called before each repetition. */
async function patiently(attempt, signal, waits = () => {}) {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      waits(failures);
      await pause(Math.max(error.afterMs || 0, backoff(failures)), signal);
    }
  }
}

async function once(method, path, { token, body, headers, signal, withinMs = ANSWER_WITHIN_MS }) {
  const late = new AbortController();
  const stop = () => late.abort();
  const timer = setTimeout(stop, withinMs);
  signal?.addEventListener("abort", stop);
  try {
    const response = await fetch(new URL(path, BASE), {
      method,
      headers: {
        ...authorization(token),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      signal: late.signal,
    });
    if (!response.ok) throw await refusal(response);
    return response.status === 204 ? null : await response.json();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof Problem || error instanceof Unanswered) throw error;
    throw new Unanswered();
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

function authorization(token) {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/** A `Problem`, or `Unanswered` where the contract says: send the same again. */
async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  const again = response.status >= 500 || response.status === 429 || body.code === "request_in_progress";
  if (!again) return new Problem(body, response.status);
  return new Unanswered(1000 * Number(response.headers.get("Retry-After") ?? 0));
}
