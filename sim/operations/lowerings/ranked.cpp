#include "ppsim/operations/detail/ranked.hpp"

#include "ppsim/operations/detail/stream_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace ppsim::lowering {

std::size_t communicator_of(const StageTransfer& transfer, bool is_send, Communicators communicators) {
  return communicator_number(communicators, transfer.pass, index(is_send ? transfer.to : transfer.from), is_send);
}

std::vector<std::uint32_t> by_sender(const StageTransfers& transfers, std::span<const std::uint32_t> places) {
  std::vector<std::uint32_t> ranks(transfers.all().size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::ranges::sort(ranks, {}, [&](std::uint32_t i) { return places[index(transfers.all()[i].sender)]; });
  return ranks;
}

std::optional<CommOrder> ranked_order(const StageTransfers& transfers, std::span<const std::uint32_t> ranks,
                                      Communicators communicators, std::size_t stages) {
  std::vector<std::vector<PlacedOp>> rows(stages);
  std::vector<std::map<std::size_t, std::uint32_t>> behind(stages); // CommOp::before of the last operation
  std::uint64_t key = 0;
  const auto add = [&](const StageTransfer& transfer, bool is_send, std::uint32_t from) {
    const std::size_t stage = index(is_send ? transfer.from : transfer.to);
    std::uint32_t& before = behind[stage][communicator_of(transfer, is_send, communicators)];
    before = std::max(before, from);
    rows[stage].push_back({{.sender = transfer.sender, .before = before, .is_send = is_send}, key});
    return before;
  };
  for (const std::uint32_t i : ranks) {
    const StageTransfer& transfer = transfers.all()[i];
    add(transfer, true, transfer.send_from);
    if (add(transfer, false, 0) > transfer.needed) return std::nullopt;
    ++key;
  }
  return sorted_order(std::move(rows));
}

} // namespace ppsim::lowering
