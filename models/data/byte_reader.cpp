#include "lockstep/models/data/byte_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include <lockstep/models/data/deflate.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep {

ByteReader::ByteReader(const std::filesystem::path& file) : file_(file) {
  std::error_code error;
  require<InputError>(std::filesystem::exists(file, error), "{}: there is no such file", file.string());
  require<InputError>(std::filesystem::is_regular_file(file, error), "{}: this is not a regular file", file.string());
  stream_.open(file, std::ios::binary);
  require<InputError>(stream_.is_open(), "{}: cannot be opened: {}", file.string(), std::strerror(errno));
  file_bytes_ = std::filesystem::file_size(file, error);
  require<InputError>(!error, "{}: its size is unknown: {}", file.string(), error.message());
  refill();
  compressed_ = inflater_.avail_in >= 2 && input_[0] == 0x1f && input_[1] == 0x8b;
  constexpr int gzip_with_largest_window = 16 + MAX_WBITS;
  if (compressed_)
    require<OutOfMemory>(inflateInit2(&inflater_, gzip_with_largest_window) == Z_OK, "{}: no memory for zlib",
                         file.string());
}

ByteReader::~ByteReader() {
  if (compressed_) inflateEnd(&inflater_);
}

std::uint64_t ByteReader::most_bytes() const { return compressed_ ? file_bytes_ * best_ratio_of_deflate : file_bytes_; }

bool ByteReader::refill() {
  stream_.read(reinterpret_cast<char*>(input_.data()), static_cast<std::streamsize>(input_.size()));
  require<InputError>(!stream_.bad(), "{}: reading failed: {}", file_.string(), std::strerror(errno));
  inflater_.next_in = input_.data();
  inflater_.avail_in = static_cast<uInt>(stream_.gcount());
  return inflater_.avail_in > 0;
}

std::size_t ByteReader::read_plain(std::byte* to, std::size_t bytes) {
  const std::size_t copied = std::min<std::size_t>(bytes, inflater_.avail_in);
  std::memcpy(to, inflater_.next_in, copied);
  inflater_.next_in += copied;
  inflater_.avail_in -= static_cast<uInt>(copied);
  return copied;
}

std::size_t ByteReader::inflate_some(std::byte* to, std::size_t bytes) {
  inflater_.next_out = reinterpret_cast<Bytef*>(to);
  inflater_.avail_out = static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
  const uInt room = inflater_.avail_out;
  const int status = inflate(&inflater_, Z_NO_FLUSH);
  ended_ = status == Z_STREAM_END;
  require<InputError>(ended_ || status == Z_OK || status == Z_BUF_ERROR, "{}: the compressed data are damaged: {}",
                      file_.string(), inflater_.msg != nullptr ? inflater_.msg : zError(status));
  return room - inflater_.avail_out;
}

std::size_t ByteReader::read(std::byte* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes && !ended_) {
    const std::size_t step = compressed_ ? inflate_some(to + done, bytes - done) : read_plain(to + done, bytes - done);
    done += step;
    if (step > 0 || ended_ || inflater_.avail_in > 0) continue;
    if (refill()) continue;
    require<InputError>(!compressed_, "{}: the compressed data are cut short", file_.string());
    break;
  }
  return done;
}

void ByteReader::require_end() {
  std::byte extra{};
  const bool more = read(&extra, 1) > 0 || inflater_.avail_in > 0 || refill();
  require<InputError>(!more, "{}: has more bytes than it should", file_.string());
}

}  // namespace lockstep
