#pragma once
// A space small enough that all of it can be tried.

#include "ppsim/plan/space.hpp"

namespace ppsim::test {

/// Ten layers of Llama 3 8B on `gpus` H100.
inline PlanRequest small_space(std::int64_t gpus, std::int64_t batch, Bytes limit) {
  PlanRequest request;
  Model model = find_model("llama-3-8b");
  model.layers = 10;
  request.run.model_shape = model;
  request.run.device_sheet = find_device("h100");
  request.run.training.sequence_length = 2048;
  request.run.memory_limit = limit;
  request.gpus = gpus;
  request.global_batch = batch;
  return request;
}

} // namespace ppsim::test
