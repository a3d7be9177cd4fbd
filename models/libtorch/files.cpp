#include "lockstep/models/libtorch/files.h"

#include <filesystem>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/models/files/safetensors_file.h>
#include <lockstep/models/libtorch/tensor.h>
#include <lockstep/runtime/core/atomic_file.h>

namespace lockstep::libtorch {
namespace {

bool is_safetensors(const std::string& path) { return std::filesystem::path(path).extension() == ".safetensors"; }

void check_kept_by_safetensors(const std::string& name, const torch::Tensor& value) {
  require<Unsupported>(dtype_of(value.scalar_type()).has_value(),
                       "'{}' is {}, which .safetensors files of lockstep do not hold: use .pt", name,
                       torch::toString(value.scalar_type()));
}

std::vector<std::byte> safetensors_of(const ModuleReplicas& modules) {
  std::vector<NamedTensor> named;
  modules.with_mean_buffers([&](torch::nn::Module& /*first*/) {
    for (const NamedTensors& tensors : modules.tensors()) {
      const torch::Tensor& value = tensors.replicas.front();
      check_kept_by_safetensors(tensors.name, value);
      named.push_back({tensors.name, from_torch(value)});
    }
  });
  return safetensors_contents(named);
}

void load_safetensors(const ModuleReplicas& modules, const std::string& path) {
  std::vector<SafetensorsFile::Expected> expected;
  for (const NamedTensors& tensors : modules.tensors()) {
    const torch::Tensor& value = tensors.replicas.front();
    check_kept_by_safetensors(tensors.name, value);
    expected.push_back({tensors.name, *dtype_of(value.scalar_type()), shape_of(value), {tensors.name}});
  }
  const std::vector<Tensor> values = SafetensorsFile(path).read_exactly(expected);
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < values.size(); ++i)
    torch::Tensor(modules.tensors()[i].replicas.front()).copy_(as_torch(values[i]));
}

/// libtorch's message in one line, without the backtrace.
std::string line_of(const c10::Error& error) {
  std::string line = error.what_without_backtrace();
  return line.substr(0, line.find('\n'));
}

}  // namespace

void detail::write_archive(const Strategy& strategy, const std::string& path,
                           const std::function<void(torch::serialize::OutputArchive&)>& write) {
  torch::serialize::OutputArchive archive(std::make_shared<torch::jit::CompilationUnit>());
  write(archive);
  if (!strategy.is_chief()) return;
  std::ostringstream contents;
  archive.save_to(contents);
  const std::string_view bytes = contents.view();
  write_file_atomically(path, std::as_bytes(std::span(bytes)));
}

void detail::read_archive(const std::string& path, const std::function<void(torch::serialize::InputArchive&)>& read) {
  require<InputError>(std::filesystem::exists(path), "{}: there is no such file", path);
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(path);
    read(archive);
  } catch (const c10::Error& error) {
    fail<InputError>("{}: {}", path, line_of(error));
  }
}

void save(const ModuleReplicas& modules, const std::string& path) {
  if (is_safetensors(path)) {
    const std::vector<std::byte> contents = safetensors_of(modules);
    if (modules.strategy().is_chief()) write_file_atomically(path, contents);
    return;
  }
  modules.with_mean_buffers([&](torch::nn::Module& first) {
    detail::write_archive(modules.strategy(), path,
                          [&](torch::serialize::OutputArchive& archive) { first.save(archive); });
  });
}

void load(const ModuleReplicas& modules, const std::string& path) {
  modules.load_first([&](torch::nn::Module& first) {
    if (is_safetensors(path))
      load_safetensors(modules, path);
    else
      detail::read_archive(path, [&](torch::serialize::InputArchive& archive) { first.load(archive); });
  });
}

}  // namespace lockstep::libtorch
