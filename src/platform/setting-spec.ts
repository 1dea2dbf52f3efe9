/** What a setting is, for the tables of settings. */
import Type, { type Static, type TSchema } from "typebox";

export interface SettingSpec<S extends TSchema = TSchema> {
  readonly env: string;
  readonly flag: string;
  readonly schema: S;
  /** Undefined: no value unless given. */
  readonly default?: Static<S>;
  /** Of a number with a unit, such as `MiB`. */
  readonly unit?: string;
  /** What the setting is for; starts with a lower-case letter and has no final period. */
  readonly description: string;
  /** True for a value that is never printed. */
  readonly secret?: boolean;
}

/** Returns a setting with the type of its default. */
export function setting<const T extends SettingSpec>(
  spec: T,
): T & { readonly default: T extends { default: infer D } ? D : undefined } {
  return spec as T & { readonly default: T extends { default: infer D } ? D : undefined };
}

/** A port to listen on; 0 picks a free one. */
export const Port = Type.Integer({ minimum: 0, maximum: 65_535 });
