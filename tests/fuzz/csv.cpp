#include <lockstep/models/data/csv_file.h>

#include "fuzz_target.h"

/// The first byte selects options: its lowest bit the header, the next one the separator, the others the type of the
/// column "a".
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("table.csv");
  if (size == 0) return 0;
  file.write(data + 1, size - 1);
  lockstep::CsvOptions options{.separator = (data[0] & 2) != 0 ? ';' : ',', .header = (data[0] & 1) != 0};
  if (const int type = data[0] >> 2; type < 3) options.types["a"] = static_cast<lockstep::CsvType>(type);
  lockstep::fuzz::result_or_error([&] {
    const std::vector<lockstep::CsvColumn> columns = lockstep::read_csv(file.path(), options);
    (void)lockstep::csv_examples(columns, columns.front().name);
  });
  return 0;
}
