#pragma once

#include <concepts>
#include <functional>
#include <sstream>
#include <string>

#include <torch/optim/optimizer.h>
#include <torch/serialize.h>

#include <lockstep/models/libtorch/module_replicas.h>
#include <lockstep/models/libtorch/replicated.h>
#include <lockstep/models/serialization/file_formats.h>

namespace lockstep::libtorch {

// A file holds one module or optimizer, for any number of replicas. With several processes, all must call these
// functions; the chief writes, atomically, and all must read the same file. The functions throw InputError, which names
// the file, if it cannot be read or does not match the module or optimizer, and the errors of write_file_atomically. If
// one process throws InputError, all do.

/// Saves a module. An f32 or bf16 buffer is saved as the mean of the replicas' values, any other buffer with the first
/// replica's values. If the file's name ends with ".safetensors", the file has that format, with the names of PyTorch's
/// state_dict; other files have the format of torch::save. Throws Unsupported for a ".safetensors" file of a module
/// with a tensor that is not f32, bf16, i32, i64, u8 or bool. Throws LogicError inside a replica.
void save(const ModuleReplicas& modules, const std::string& path);
/// Loads a file of save() or torch::save into all replicas. If the file does not match, changes nothing. Throws
/// Unsupported and LogicError in the same cases as save().
void load(const ModuleReplicas& modules, const std::string& path);

/// @cond
namespace detail {
void write_archive(const Strategy& strategy, const std::string& path,
                   const std::function<void(torch::serialize::OutputArchive&)>& write);
void read_archive(const std::string& path, const std::function<void(torch::serialize::InputArchive&)>& read);
}  // namespace detail
/// @endcond

///@{
/// `save` writes the state of one replica's optimizer, because the optimizers of all replicas are equal; `load` reads
/// it into every replica's optimizer. If libtorch rejects the file, changes nothing; libtorch does not compare shapes.
template <std::derived_from<torch::optim::Optimizer> Optimizer>
void save(const Replicated<Optimizer>& optimizers, const std::string& path) {
  detail::write_archive(optimizers.strategy(), path, [&](torch::serialize::OutputArchive& archive) {
    optimizers.replicas().front()->save(archive);
  });
}
template <std::derived_from<torch::optim::Optimizer> Optimizer>
void load(const Replicated<Optimizer>& optimizers, const std::string& path) {
  std::stringstream before;
  torch::save(*optimizers.first(), before);
  try {
    on_all_workers(optimizers.strategy(), [&] {
      for (const auto& optimizer : optimizers.replicas())
        detail::read_archive(path, [&](torch::serialize::InputArchive& archive) { optimizer->load(archive); });
    });
  } catch (...) {
    for (const auto& optimizer : optimizers.replicas()) {
      optimizer->state().clear();  // libtorch's load would keep the state of parameters that had none before
      before.seekg(0);
      torch::load(*optimizer, before);
    }
    throw;
  }
}
///@}

}  // namespace lockstep::libtorch
