/** What a part of the page shows of the server: asked for when it appears, and again in turns while it is seen. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { sentenceOf, send } from "./api.js";
import { queryText, type Call } from "./calls.js";

export interface Data<T> {
  readonly body: T | undefined;
  readonly total: number | undefined;
  /** The server's sentence; undefined while all is well. */
  readonly error: string | undefined;
  readonly reload: () => void;
  readonly call: Call | undefined;
}

/**
 * Sends a call and shows its answer.
 * @param call undefined to ask for nothing yet
 * @param everyMs asks again after each answer; not while the page is hidden
 */
export function useData<T>(call: Call | undefined, everyMs?: number): Data<T> {
  const [answer, setAnswer] = useState<{ body?: T; total?: number | undefined; error?: string; of?: string }>({});
  const [turn, setTurn] = useState(0);
  const address = call === undefined ? "" : call.path + queryText(call.query);
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (address === "") return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      const now = latest.current;
      if (now !== undefined && !document.hidden) {
        try {
          const { body, total } = await send<T>(now, { signal: abort.signal });
          setAnswer({ body, total, of: address });
        } catch (error) {
          if (abort.signal.aborted) return;
          setAnswer((before) => ({ ...(before.of === address ? before : {}), error: sentenceOf(error), of: address }));
        }
      }
      if (everyMs !== undefined && !abort.signal.aborted) timer = setTimeout(() => void ask(), everyMs);
    };
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [address, everyMs, turn]);
  const reload = useCallback(() => {
    setTurn((before) => before + 1);
  }, []);
  const isCurrent = answer.of === address;
  return {
    body: isCurrent ? answer.body : undefined,
    total: isCurrent ? answer.total : undefined,
    error: isCurrent ? answer.error : undefined,
    reload,
    call,
  };
}
