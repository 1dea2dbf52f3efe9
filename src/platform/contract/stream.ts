/**
 * The answer of a streaming route: a source of messages, which does not depend on the transport, and the sink that a
 * transport (SSE or WebSocket) gives it. Plain types; no server code.
 */

export interface StreamMessage {
  /** Position of the stream after this message; a client sends it back to continue from there. */
  readonly id: number;
  /** Absent for events; a word such as `gap` or `heartbeat` for messages about the stream itself. */
  readonly type?: string;
  /** A JSON object whose first member is `id`. */
  readonly json: string;
}

/** Why the server ended a stream. */
export type StreamEnd = "token_expired" | "token_revoked" | "forbidden" | "slow_consumer" | "shutting_down" | "failed";

/** Sends a message to all sinks that joined a topic, at the cost of one. There is one for each server and transport. */
export interface StreamChannel {
  publish(topic: string, message: StreamMessage): void;
}

/** Takes the messages of one stream to its reader. */
export interface StreamSink {
  /** Channel that this sink can join; undefined when each sink has to be sent to by itself. */
  readonly channel: StreamChannel | undefined;
  /**
   * Sends a message. Returns false when the reader does not keep up: this message is still sent, and the next one has
   * to wait for `writable`.
   */
  send(message: StreamMessage): boolean;
  /** Receives what the channel publishes under the topic from now on, after everything that was sent before. */
  join(topic: string): void;
  /** Stops receiving what the channel publishes under the topic. */
  leave(topic: string): void;
  /** Ends the stream and tells the reader why, if it is still connected. */
  end(reason: StreamEnd): void;
}

/** An open stream; the transport calls its methods. */
export interface OpenStream {
  /** The reader has taken everything that was waiting. */
  writable(): void;
  /**
   * A published message was dropped, because too much was waiting already. `writable` follows when the reader reads
   * again.
   * @param position number of the last event that the reader has
   */
  dropped(position: number): void;
  /** The connection is closed; called once, also after `end`. */
  closed(): void;
}

/** A stream that is about to begin. */
export interface StreamSource {
  /** Begins to send to the sink; called once. */
  open(sink: StreamSink): OpenStream;
}
