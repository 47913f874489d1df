#include "ppsim/sim/error.hpp"

#include "program_graph.hpp"

namespace ppsim::runtime {

void refuse_deadlock(const Program& program) {
  if (ProgramGraph{program}.runs_to_its_end()) return;
  throw Error{ExitCode::no, Problem{program.place, "deadlock: its tasks and transfers wait for each other",
                                    "give more --slots, or use --p2p edge"}};
}

} // namespace ppsim::runtime
