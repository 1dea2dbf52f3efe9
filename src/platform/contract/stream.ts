/**
 * What a streaming route answers with: a source of messages that knows nothing of how they travel, and the sink that a
 * transport (SSE or WebSocket) gives it. Plain types; no server code.
 */

export interface StreamMessage {
  /** Where the stream stands after this message; a client sends it back to go on from there. */
  readonly id: number;
  /** Absent for the stream's own matter; a word such as `gap` or `heartbeat` for messages about the stream. */
  readonly type?: string;
  /** One JSON object, which begins with its `id` member. */
  readonly json: string;
}

/** Why a stream was ended by the server. */
export type StreamEnd = "token_expired" | "token_revoked" | "forbidden" | "slow_consumer" | "shutting_down" | "failed";

/** Sends one message to all sinks that joined a topic, in one go. One per server and transport. */
export interface StreamChannel {
  publish(topic: string, message: StreamMessage): void;
}

export interface StreamSink {
  /** Where many sinks can be served at once; absent when each has to be sent to by itself. */
  readonly channel: StreamChannel | undefined;
  /**
   * Sends a message. False: the reader does not keep up, wait for `writable` before the next; this message is on its
   * way all the same.
   */
  send(message: StreamMessage): boolean;
  /** From now on what the channel publishes under the topic comes here too, after all that was sent. */
  join(topic: string): void;
  /** No more of it. */
  leave(topic: string): void;
  /** Ends the stream and tells the reader why, as far as it still listens. */
  end(reason: StreamEnd): void;
}

/** An open stream, as the transport sees it. */
export interface OpenStream {
  /** The reader took everything that was held back. */
  writable(): void;
  /**
   * A published message was not taken, because too much was held back already: the reader stands at this position.
   * `writable` follows once it reads again.
   */
  dropped(position: number): void;
  /** The connection is gone; called once, also after `end`. */
  closed(): void;
}

export interface StreamSource {
  /** Called once, when the reader is there. */
  open(sink: StreamSink): OpenStream;
}
