// The plugin ppsim_mpi: MessagePassing with MPI. It does not link ppsim, and only this file uses MPI.

#include "ppsim/runtime/message_passing.hpp"

#include <mpi.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace ppsim::runtime {
namespace {

/// Turns the status of a failed MPI call into an exception with MPI's message.
void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw std::runtime_error(std::string(call) + ": " + std::string(text.data(), static_cast<std::size_t>(length)));
}

int to_count(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(INT_MAX))
    throw std::runtime_error("a message of " + std::to_string(bytes) + " bytes is larger than MPI takes (2147483647)");
  return static_cast<int>(bytes);
}

/// "Open MPI 4.1.4" from "Open MPI v4.1.4, package: ...", "MPICH 4.0.2" from "MPICH Version:\t4.0.2\n...".
std::string mpi_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "MPI";
  const std::string_view all{text.data(), static_cast<std::size_t>(length)};
  const std::string_view line = all.substr(0, all.find_first_of(",\n"));
  const std::size_t digit = line.find_first_of("0123456789");
  if (digit == std::string_view::npos) return std::string(line);
  const std::string_view name = line.substr(0, line.find_first_of("0123456789:") == digit ? digit : line.find(':'));
  std::string words{name.substr(0, name.find(" Version"))};
  while (!words.empty() && (words.back() == ' ' || words.back() == 'v')) words.pop_back();
  return words + " " + std::string(line.substr(digit));
}

class Mpi final : public MessagePassing {
public:
  Mpi() : main_(std::this_thread::get_id()) {
    // A waiting rank yields its core to a working one: there may be more ranks than cores. mpirun sets this itself if
    // it knows; srun does not.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    int initialized = 0;
    check(MPI_Initialized(&initialized), "MPI_Initialized");
    if (initialized != 0) throw std::runtime_error("MPI was started before");
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    any_thread_ = provided == MPI_THREAD_MULTIPLE;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(world_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(world_, &size_), "MPI_Comm_size");
    MPI_Comm host = MPI_COMM_NULL;
    check(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
    check(MPI_Comm_rank(host, &local_rank_), "MPI_Comm_rank");
    MPI_Comm_free(&host);
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() override {
    MPI_Comm_free(&world_);
    MPI_Finalize();
  }

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(size_); }
  [[nodiscard]] std::size_t local_rank() const override { return static_cast<std::size_t>(local_rank_); }
  [[nodiscard]] std::string host() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> text{};
    int length = 0;
    check(MPI_Get_processor_name(text.data(), &length), "MPI_Get_processor_name");
    return {text.data(), static_cast<std::size_t>(length)};
  }

  Request isend(const void* data, std::size_t bytes, std::size_t to, int tag) override {
    const Request request = free_request();
    check(MPI_Isend(data, to_count(bytes), MPI_BYTE, static_cast<int>(to), tag, world_, &requests_[request]),
          "MPI_Isend");
    used_[request] = true;
    return request;
  }
  Request irecv(void* data, std::size_t capacity, std::size_t from, int tag) override {
    const Request request = free_request();
    check(MPI_Irecv(data, to_count(capacity), MPI_BYTE, static_cast<int>(from), tag, world_, &requests_[request]),
          "MPI_Irecv");
    used_[request] = true;
    return request;
  }
  bool test(Request request, std::size_t* received) override {
    int complete = 0;
    MPI_Status status{};
    const int result = MPI_Test(&requests_.at(request), &complete, &status);
    if (result != MPI_SUCCESS) {
      used_[request] = false;
      int error = MPI_SUCCESS;
      MPI_Error_class(result, &error);
      if (error != MPI_ERR_TRUNCATE || received == nullptr) check(result, "MPI_Test");
      // A message larger than its receive: Open MPI and MPICH report its size in the status.
      int count = MPI_UNDEFINED;
      MPI_Get_count(&status, MPI_BYTE, &count);
      *received = count == MPI_UNDEFINED ? SIZE_MAX : static_cast<std::size_t>(count);
      return true;
    }
    if (complete == 0) return false;
    used_[request] = false;
    if (received != nullptr) {
      int count = 0;
      check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
      *received = static_cast<std::size_t>(count);
    }
    return true;
  }
  void cancel(Request request) noexcept override {
    if (request >= requests_.size() || !used_[request]) return;
    MPI_Cancel(&requests_[request]);
    MPI_Request_free(&requests_[request]);
    used_[request] = false;
  }

  void start_barrier() override { check(MPI_Ibarrier(world_, &barrier_), "MPI_Ibarrier"); }
  bool test_barrier() override {
    int complete = 0;
    check(MPI_Test(&barrier_, &complete, MPI_STATUS_IGNORE), "MPI_Test");
    return complete != 0;
  }

  void abort(int status) noexcept override {
    // MPI_Abort contacts the launcher and waits for its answer. If the launcher is lost, the alarm ends this process.
    std::signal(SIGALRM, SIG_DFL);
    alarm(2);
    if (any_thread_ || std::this_thread::get_id() == main_) MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
  }

private:
  Request free_request() {
    for (Request request = 0; request < used_.size(); ++request)
      if (!used_[request]) return request;
    used_.push_back(false);
    requests_.push_back(MPI_REQUEST_NULL);
    return requests_.size() - 1;
  }

  std::thread::id main_;
  bool any_thread_ = false;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 0, local_rank_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<bool> used_; ///< by request; few are active at the same time
  MPI_Request barrier_ = MPI_REQUEST_NULL;
};

} // namespace
} // namespace ppsim::runtime

extern "C" __attribute__((visibility("default"))) const ppsim::runtime::MpiPlugin ppsim_mpi_plugin{
    PPSIM_VERSION, &ppsim::runtime::mpi_name,
    []() -> std::unique_ptr<ppsim::runtime::MessagePassing> { return std::make_unique<ppsim::runtime::Mpi>(); }};
