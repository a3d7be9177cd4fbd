#include <lockstep/models/data/cifar.h>

#include "fuzz_target.h"

/// Limits the number of records in the file to those that an input can have.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const fuzz::InputFile cifar10("test_batch.bin");
  static const fuzz::InputFile cifar100("test.bin.gz");
  for (const fuzz::InputFile* file : {&cifar10, &cifar100}) file->write(data, size);
  const std::int64_t records = 2;
  fuzz::result_or_error(
      [&] { (void)load_cifar10({.directory = cifar10.folder(), .split = Split::test, .limit = records}); });
  fuzz::result_or_error(
      [&] { (void)load_cifar100({.directory = cifar100.folder(), .split = Split::test, .limit = records}); });
  return 0;
}
