#include "program_graph.hpp"

namespace ppsim::runtime {

void verify(const Program& program) {
  refuse_deadlock(program);
}

} // namespace ppsim::runtime
