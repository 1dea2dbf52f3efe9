// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.20;

/// A verifier contract that says which verifying key it has.
interface KeyedVerifier {
    function VERIFYING_KEY_SHA256() external view returns (bytes32);
}

/// Tells which contract verifies the proofs of a prover now, and with which key. Only the owner changes entries, and
/// ownership moves in two steps, so that it cannot be given to an address that nobody controls. It cannot be given up.
contract VerifierRegistry {
    struct Entry {
        address verifier;
        /// SHA-256 of the prover's verifying_key.json.
        bytes32 keyHash;
        /// Keccak-256 of the verifier's code when it was registered.
        bytes32 codeHash;
    }

    address public owner;
    /// Who becomes the owner by accepting; zero for nobody.
    address public pendingOwner;
    /// By prover: its UUID as 16 bytes.
    mapping(bytes16 proverId => Entry) public entries;

    event VerifierRegistered(bytes16 indexed proverId, address indexed verifier, bytes32 keyHash, bytes32 codeHash);
    event VerifierRemoved(bytes16 indexed proverId, address indexed verifier);
    event OwnershipOffered(address indexed owner, address indexed pendingOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed owner);

    error NotOwner(address caller);
    error NotPendingOwner(address caller);
    error NoContract(address verifier);
    error OtherKey(bytes32 keyHash);
    error NotRegistered(bytes16 proverId);

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    constructor() {
        owner = msg.sender;
        emit OwnershipTransferred(address(0), msg.sender);
    }

    /// Enters or replaces the verifier of a prover. The contract itself must say that it has this key.
    function register(bytes16 proverId, address verifier, bytes32 keyHash) external onlyOwner {
        if (verifier.code.length == 0) revert NoContract(verifier);
        bytes32 its = KeyedVerifier(verifier).VERIFYING_KEY_SHA256();
        if (its != keyHash) revert OtherKey(its);
        entries[proverId] = Entry(verifier, keyHash, verifier.codehash);
        emit VerifierRegistered(proverId, verifier, keyHash, verifier.codehash);
    }

    /// Takes a prover out, such as after its key turned out to be unsafe.
    function remove(bytes16 proverId) external onlyOwner {
        address verifier = entries[proverId].verifier;
        if (verifier == address(0)) revert NotRegistered(proverId);
        delete entries[proverId];
        emit VerifierRemoved(proverId, verifier);
    }

    /// Returns the verifier of a prover and its key's hash; reverts where none is registered.
    function verifierOf(bytes16 proverId) external view returns (address verifier, bytes32 keyHash) {
        Entry storage entry = entries[proverId];
        if (entry.verifier == address(0)) revert NotRegistered(proverId);
        return (entry.verifier, entry.keyHash);
    }

    /// Offers the ownership, or with zero takes an offer back; the owner stays until the other accepts.
    function transferOwnership(address next) external onlyOwner {
        pendingOwner = next;
        emit OwnershipOffered(msg.sender, next);
    }

    function acceptOwnership() external {
        if (msg.sender != pendingOwner) revert NotPendingOwner(msg.sender);
        emit OwnershipTransferred(owner, msg.sender);
        owner = msg.sender;
        delete pendingOwner;
    }
}
