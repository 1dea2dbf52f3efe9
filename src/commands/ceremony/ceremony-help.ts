/** What `proofwright ceremony --help` prints. */

export const CEREMONY_HELP = `Usage: proofwright ceremony contribute URL --name=NAME [options]
       proofwright ceremony verify FOLDER|URL [options]

\`contribute\` joins the ceremony at URL, waits for its turn, downloads the key, contributes on this machine, uploads the new
key, signs a statement about it and prints that. The secret is in the memory of a process that ends with the contribution,
and nowhere else. Stopped while it waits, it goes on where it was when it is started again in the same folder.

  --name=NAME               published as the contributor's name
  --invitation-file=FILE    the token of an invitation, where the ceremony is not open to all
  --entropy-file=FILE       bytes that are mixed into the secret, beside the system's random numbers
  --ssh-key=FILE            signs by this key (ssh-keygen -Y sign); --github=NAME says whose it is, which the
                            server compares with https://github.com/NAME.keys
  --ethereum-key-file=FILE  signs by this key, 64 hex digits, as a wallet signs a message
  --ed25519-key-file=FILE   signs by this seed, 64 hex digits
  --vault-key=URL           signs by a vault's key at https://HOST/api/v1/vaults/ID/keys/ID, which stays there: Ed25519, P-256,
                            secp256k1 or BIP39; the token is read from PROOFWRIGHT_TOKEN in the environment
  --statement-file=FILE     also writes the statement, with its signature, to a file
  --session-file=FILE       where the token of this participant is kept until the end

\`verify\` recomputes everything that a transcript says and compares the key's own chain of contributions with the published
one. It prints a line for each check: yes, NO with the reason, or - where a file is missing. FOLDER has
ceremony-transcript.json, proving_key.zkey and, for all checks, initial_key.zkey, circuit.r1cs, verifying_key.json and one
.ptau file; from a URL all but the .ptau file are downloaded. Exit status: 0 all checks hold, 1 one does not, 3 none fails but
not all were possible.

  --github-keys=PATH        https://github.com/NAME.keys, saved as NAME.keys, or a folder of such files: the key of a statement
                            that names its signer on GitHub must be among them; without, it is said to be not compared
  --transcript=FILE --zkey=FILE --initial-key=FILE --r1cs=FILE --ptau=FILE --verifying-key=FILE   single files
`;
