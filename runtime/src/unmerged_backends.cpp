// Until the branches that bring these backends are merged: whoever brings one deletes its function here.

#include "ppsim/sim/error.hpp"

#include "backend_list.hpp"

namespace ppsim::runtime {

std::unique_ptr<Backend> make_cuda_backend() {
  throw Error(ExitCode::failed, Problem{"backend cuda", "is not part of this build", ""});
}
std::unique_ptr<Backend> make_nccl_backend() {
  throw Error(ExitCode::failed, Problem{"backend nccl", "is not part of this build", ""});
}

} // namespace ppsim::runtime
