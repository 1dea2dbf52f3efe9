/** A file in a request's body, as the handler of a route with `streamedBody` gets it. Imports no server code. */

/** Where a part lies in the whole file (Content-Range, RFC 9110 section 14.4). */
export interface PartOfFile {
  /** Offset of the part's first byte. */
  readonly start: number;
  /** Length of the whole file in bytes. */
  readonly total: number;
}

export interface StreamedBody {
  /** Content-Length: what the whole body will have. */
  readonly bytes: number;
  /** Undefined when the body is the whole file. */
  readonly part: PartOfFile | undefined;
  /** SHA-256 of the whole file in lower-case hex, as the client says (Repr-Digest, RFC 9530); undefined without one. */
  readonly sha256: string | undefined;
  /**
   * The bytes in their order, to be read once. The client is held up while a chunk is worked on. A chunk may be kept.
   * Ends with `malformed_request` when the client left or was answered before the last byte.
   */
  readonly chunks: AsyncIterable<Uint8Array>;
}
