/**
 * Tells uWebSockets.js how long a request head may be. The library reads the variable when it is loaded, so this file
 * is imported before it.
 */
import { HEAD_BYTES_MAX } from "../../contract/head-limits.js";

process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEAD_BYTES_MAX);
