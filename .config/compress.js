/**
 * Puts a file's form in brotli beside it, as `NAME.br`, which the server sends as it is. Quality 9 takes a second for the
 * reference's script, 11 takes twelve and saves a tenth. Small files gain nothing.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";

const BYTES_MIN = 1024;
const compress = promisify(brotliCompress);

export async function addCompressed(paths) {
  await Promise.all(
    paths.map(async (path) => {
      const bytes = readFileSync(path);
      if (bytes.length < BYTES_MIN) return;
      const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
      // Under its name only when it is whole.
      writeFileSync(`${path}.br.new`, await compress(bytes, { params }));
      renameSync(`${path}.br.new`, `${path}.br`);
    }),
  );
}
