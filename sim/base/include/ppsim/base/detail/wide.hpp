#pragma once
// A 128-bit integer, for products of two 64-bit numbers.

namespace ppsim {
__extension__ using Int128 = __int128;
} // namespace ppsim
