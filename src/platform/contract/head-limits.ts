/** Limits of a request's head, which callers are told and the library keeps. */

/** Request line and headers: room for a token of 2 KiB, a long query and what proxies add. As other servers take. */
export const HEAD_BYTES_MAX = 8192;
/** Fixed in the library. */
export const HEAD_FIELDS_MAX = 98;
