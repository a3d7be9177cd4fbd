#include "lockstep/models/data/byte_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include <isa-l/igzip_lib.h>

#include <lockstep/models/files/deflate.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/core/regular_file.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

const char* reason_of(int status) {
  switch (status) {
    case ISAL_INVALID_BLOCK:
      return "invalid block";
    case ISAL_INVALID_SYMBOL:
      return "invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "invalid distance";
    case ISAL_INVALID_WRAPPER:
      return "invalid gzip header";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "wrong checksum";
    default:
      return "unknown reason";
  }
}

}  // namespace

ByteReader::ByteReader(const std::filesystem::path& file) : file_(file) {
  require_regular_file(file);
  stream_.open(file, std::ios::binary);
  require<InputError>(stream_.is_open(), "{}: cannot be opened: {}", file.string(), std::strerror(errno));
  std::error_code error;
  file_bytes_ = std::filesystem::file_size(file, error);
  require<InputError>(!error, "{}: its size is unknown: {}", file.string(), error.message());
  refill();
  const std::array<std::uint8_t, 3> gzip{0x1f, 0x8b, 8};  // the magic number and deflate
  if (rest_.size() < gzip.size() || !std::ranges::equal(rest_.first(gzip.size()), gzip)) return;
  inflater_ = std::make_unique<inflate_state>();
  isal_inflate_init(inflater_.get());
  inflater_->crc_flag = ISAL_GZIP;
}

ByteReader::~ByteReader() = default;

std::uint64_t ByteReader::most_bytes() const { return inflater_ ? file_bytes_ * best_ratio_of_deflate : file_bytes_; }

bool ByteReader::refill() {
  stream_.read(reinterpret_cast<char*>(input_.data()), static_cast<std::streamsize>(input_.size()));
  require<InputError>(!stream_.bad(), "{}: reading failed: {}", file_.string(), std::strerror(errno));
  rest_ = std::span(input_).first(static_cast<std::size_t>(stream_.gcount()));
  return !rest_.empty();
}

std::size_t ByteReader::read_plain(std::byte* to, std::size_t bytes) {
  if (rest_.empty() && bytes > input_.size()) {  // without a copy
    stream_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(bytes));
    require<InputError>(!stream_.bad(), "{}: reading failed: {}", file_.string(), std::strerror(errno));
    return static_cast<std::size_t>(stream_.gcount());
  }
  const std::size_t copied = std::min(bytes, rest_.size());
  std::memcpy(to, rest_.data(), copied);
  rest_ = rest_.subspan(copied);
  return copied;
}

std::size_t ByteReader::inflate_some(std::byte* to, std::size_t bytes) {
  const auto room = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
  inflater_->next_in = rest_.data();
  inflater_->avail_in = static_cast<std::uint32_t>(rest_.size());
  inflater_->next_out = reinterpret_cast<std::uint8_t*>(to);
  inflater_->avail_out = room;
  const int status = isal_inflate(inflater_.get());
  require<InputError>(status >= ISAL_DECOMP_OK, "{}: the compressed data are damaged: {}", file_.string(),
                      reason_of(status));
  rest_ = rest_.last(inflater_->avail_in);
  const std::size_t done = room - inflater_->avail_out;
  ended_ = inflater_->block_state == ISAL_BLOCK_FINISH && !begin_member();
  return done;
}

bool ByteReader::begin_member() {
  if ((rest_.empty() && !refill()) || rest_[0] != 0x1f) return false;
  isal_inflate_reset(inflater_.get());
  inflater_->crc_flag = ISAL_GZIP;
  return true;
}

std::size_t ByteReader::read(std::byte* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes && !ended_) {
    const std::size_t step = inflater_ ? inflate_some(to + done, bytes - done) : read_plain(to + done, bytes - done);
    done += step;
    if (step > 0 || ended_ || !rest_.empty()) continue;
    if (refill()) continue;
    require<InputError>(!inflater_, "{}: the compressed data are cut short", file_.string());
    break;
  }
  return done;
}

Tensor ByteReader::read_all_plain() const {
  const Tensor bytes = Tensor::empty({static_cast<std::int64_t>(file_bytes_)}, DType::u8, LogicalDevice{});
  parallel_for<LoopThreads::onetbb>(bytes.dim(0), 1 << 20, [&](std::int64_t begin, std::int64_t end) {
    std::ifstream stream(file_, std::ios::binary);
    stream.seekg(begin);
    stream.read(reinterpret_cast<char*>(bytes.data<std::uint8_t>()) + begin, end - begin);
    require<InputError>(stream.gcount() == end - begin, "{}: reading failed: {}", file_.string(),
                        stream.is_open() && !stream.bad() ? "the file has become shorter" : std::strerror(errno));
  });
  return bytes;
}

Tensor ByteReader::read_all() {
  if (!inflater_) return read_all_plain();
  // Grows with the content, because a compressed file does not contain its length.
  Tensor bytes;
  std::int64_t size = 0;
  for (std::int64_t room = 1 << 20; !bytes.defined() || size == bytes.dim(0); room *= 2) {
    const Tensor larger = Tensor::empty({room}, DType::u8, LogicalDevice{});
    if (size > 0) std::memcpy(larger.data<std::uint8_t>(), bytes.data<std::uint8_t>(), static_cast<std::size_t>(size));
    bytes = larger;
    auto* const to = reinterpret_cast<std::byte*>(bytes.data<std::uint8_t>()) + size;
    size += static_cast<std::int64_t>(read(to, static_cast<std::size_t>(room - size)));
  }
  require_end();
  return bytes.slice_view(0, 0, size);
}

void ByteReader::require_end() {
  std::byte extra{};
  const bool more = read(&extra, 1) > 0 || !rest_.empty() || refill();
  require<InputError>(!more, "{}: has more bytes than it should", file_.string());
}

}  // namespace lockstep
