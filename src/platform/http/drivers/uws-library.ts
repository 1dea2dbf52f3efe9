/**
 * Finds and loads uWebSockets.js, which is published as one package for each system and major version of Node, and
 * declares the part of it that is used here.
 */
import { createRequire } from "node:module";
import type { RawRequest, RawResponse, RawSocket } from "./driver.js";

/** A listening socket of the library. */
export type UwsListenSocket = object;
/** What the library needs to turn a request into a WebSocket. */
export type UwsUpgradeContext = object;

/** A request of the library. */
export interface UwsRequest extends RawRequest {
  /** Empty when the request has no such header. */
  getHeader(lowerCaseName: string): string;
}

/** A response of the library. */
export interface UwsResponse extends RawResponse {
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  upgrade(data: object, key: string, protocol: string, extensions: string, context: UwsUpgradeContext): void;
  writeHeader(name: string, value: string): UwsResponse;
}

/** A WebSocket of the library with what `upgrade` was given. */
export interface UwsSocket<Data> extends RawSocket {
  getUserData(): Data;
}

/** How WebSockets of a path behave. */
export interface UwsBehavior<Data> {
  readonly maxPayloadLength?: number;
  readonly maxBackpressure?: number;
  readonly idleTimeout?: number;
  readonly sendPingsAutomatically?: boolean;
  readonly upgrade?: (response: UwsResponse, request: UwsRequest, context: UwsUpgradeContext) => void;
  readonly open?: (socket: UwsSocket<Data>) => void;
  readonly message?: (socket: UwsSocket<Data>, message: ArrayBuffer, isBinary: boolean) => void;
  readonly drain?: (socket: UwsSocket<Data>) => void;
  readonly dropped?: (socket: UwsSocket<Data>, message: ArrayBuffer, isBinary: boolean) => void;
  readonly close?: (socket: UwsSocket<Data>, code: number, message: ArrayBuffer) => void;
}

type UwsHandler = (response: UwsResponse, request: UwsRequest) => void;
type UwsListening = (socket: UwsListenSocket | false) => void;

/** An app of the library. */
export interface UwsApp {
  any(pattern: string, handler: UwsHandler): UwsApp;
  post(pattern: string, handler: UwsHandler): UwsApp;
  ws<Data>(pattern: string, behavior: UwsBehavior<Data>): UwsApp;
  /** Called with 1 for each connection that opens and with -1 for each that closes. */
  filter(handler: (response: UwsResponse, change: number) => void): UwsApp;
  publish(topic: string, message: string): boolean;
  listen(host: string, port: number, options: number, listening: UwsListening): UwsApp;
  listen(host: string, port: number, listening: UwsListening): UwsApp;
  close(): UwsApp;
}

/** The library. */
export interface UwsLibrary {
  readonly App: (options?: object) => UwsApp;
  readonly SSLApp: (options: { readonly cert_file_name: string; readonly key_file_name: string }) => UwsApp;
  readonly us_listen_socket_close: (socket: UwsListenSocket) => void;
  readonly us_socket_local_port: (socket: UwsListenSocket) => number;
}

/** The system that a binary has to fit. */
export interface UwsSystem {
  /** `process.versions.node` */
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
}

/** No binary of the library loads. The message is half a sentence for the operator and says why. */
export class UwsUnavailable extends Error {
  override readonly name = "UwsUnavailable";
}

const THIS_SYSTEM: UwsSystem = { node: process.versions.node, platform: process.platform, arch: process.arch };
/** The package under its own name, which is not on the registry: an operator may have installed it. */
const OWN_NAME = "uWebSockets.js";
const MISSING_SYMBOLS = /version [`']GLIBC_([0-9.]+)' not found/;

/**
 * Loads the binary for this system: the one that an install takes from the registry, else the package that the operator
 * installed.
 * @param system for which a binary is looked for
 * @param load loads a package by its name
 * @throws UwsUnavailable when there is none, or none that loads
 */
export function loadUwsLibrary(
  system: UwsSystem = THIS_SYSTEM,
  load: (name: string) => unknown = createRequire(import.meta.url),
): UwsLibrary {
  const major = system.node.split(".")[0] ?? "";
  const causes: unknown[] = [];
  for (const name of [`@uwsjs/${system.platform}-${system.arch}-${major}`, OWN_NAME]) {
    try {
      return load(name) as UwsLibrary;
    } catch (error) {
      causes.push(error);
    }
  }
  // The first binary that is there and does not load is what the operator can do something about.
  const cause = causes.find((error) => !isMissing(error)) ?? causes[0];
  throw new UwsUnavailable(`uWebSockets.js ${reasonOf(cause, system)}`, { cause });
}

function reasonOf(cause: unknown, { node, platform, arch }: UwsSystem): string {
  const needed = MISSING_SYMBOLS.exec(messageOf(cause))?.[1];
  if (needed !== undefined)
    return `for Node ${node} needs glibc ${needed} or later, which this system's C library is not`;
  return `has no binary ${isMissing(cause) ? "installed" : "that loads"} for Node ${node} on ${platform} ${arch}`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
