#pragma once
// Effect of variable work on steps, as a block of a text.

#include "ppsim/measured/variable_work.hpp"

#include <string>

namespace ppsim::viz {

/// A table of predicted and measured steps, and the sentences after it, in lines of at most `width` characters.
[[nodiscard]] std::string variable_work_block(const VariableWork& work, std::size_t replicas, std::size_t width);

} // namespace ppsim::viz
