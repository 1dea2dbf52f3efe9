/**
 * How a proving thread asks for values that only it may read. The main thread names a channel in the task; the thread
 * says there for whom the values are to be sealed, and gets them sealed. Which thread a task gets is not known before,
 * and a task that is begun again on another asks again.
 */
import { BroadcastChannel } from "node:worker_threads";

/** The question has no boxes, and the answer none where there is none. */
interface Message {
  readonly kind: "question" | "answer";
  /** Public key of the one who asks, 32 bytes. */
  readonly to: Uint8Array;
  readonly boxes?: readonly Uint8Array[];
}

/** The vault answers in milliseconds; a main thread that is gone does not. */
const WAIT_MS = 30_000;

/**
 * Asks for boxes of a recipient; undefined when there will be none.
 * @param to public key of the recipient
 */
export async function askForBoxes(name: string, to: Uint8Array): Promise<readonly Uint8Array[] | undefined> {
  const channel = new BroadcastChannel(name);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<readonly Uint8Array[] | undefined>((resolve) => {
      timer = setTimeout(() => {
        resolve(undefined);
      }, WAIT_MS);
      channel.onmessage = (event) => {
        const message = messageOf(event);
        if (message.kind === "answer" && Buffer.compare(message.to, to) === 0) resolve(message.boxes);
      };
      channel.postMessage({ kind: "question", to } satisfies Message);
    });
  } finally {
    clearTimeout(timer);
    channel.close();
  }
}

/**
 * Answers those who ask on a channel until the returned function is called.
 * @param boxesFor returns the boxes of a recipient, in order; undefined where there are none
 */
export function answerWithBoxes(
  name: string,
  boxesFor: (to: Uint8Array) => Promise<readonly Uint8Array[] | undefined>,
): () => void {
  const channel = new BroadcastChannel(name);
  let isOpen = true;
  const answer = async (to: Uint8Array): Promise<void> => {
    const boxes = await boxesFor(to).catch(() => undefined);
    if (isOpen)
      channel.postMessage({ kind: "answer", to, ...(boxes === undefined ? {} : { boxes }) } satisfies Message);
  };
  channel.onmessage = (event) => {
    const message = messageOf(event);
    if (message.kind === "question") void answer(message.to);
  };
  return () => {
    isOpen = false;
    channel.close();
  };
}

/** Only this file posts on such a channel, whose name nobody else knows. */
function messageOf(event: unknown): Message {
  return (event as { readonly data: Message }).data;
}
