/** Contracts of the tests. */

export const TOKEN = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
contract Coin is ERC20 {
  constructor(string memory name_, string memory symbol_, uint256 supply) ERC20(name_, symbol_) { _mint(msg.sender, supply); }
}`;

export const COLLECTIBLE = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
contract Cards is ERC721 {
  constructor() ERC721("Cards", "CRD") { _mint(msg.sender, 7); }
}`;

/** A contract with a method for each case of a call. */
export const PROBE = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
library Sums { function twice(uint256 x) external pure returns (uint256) { return 2 * x; } }
contract Probe {
  struct Point { int64 x; uint256 y; }
  struct Shape { string name; Point[] points; bytes4 tag; }
  error TooMuch(uint256 asked, address by);
  uint256 public stored;
  address public immutable maker;
  constructor(uint256 first) payable { require(first < 1000, "first is too large"); stored = first; maker = msg.sender; }
  function set(uint256 value) external { if (value > 100) revert TooMuch(value, msg.sender); stored = value; }
  function set(uint256 value, uint256 more) external { stored = value + more; }
  function pay() external payable returns (uint256) { return msg.value; }
  function burn() external { for (uint256 i = 0; ; i++) stored = i; }
  function divide(uint256 a, uint256 b) external pure returns (uint256) { return a / b; }
  function refuse() external pure { require(false, "never"); }
  function silent() external pure { revert(); }
  function numbers() external pure returns (uint8 small, int48 medium, uint256 large, int256 negative) { return (255, -140737488355328, type(uint256).max, type(int256).min); }
  function echo(Shape calldata shape, bool[2] calldata flags) external pure returns (Shape memory, bool[2] memory) { return (shape, flags); }
  function whoAmI() external view returns (address) { return msg.sender; }
}`;
