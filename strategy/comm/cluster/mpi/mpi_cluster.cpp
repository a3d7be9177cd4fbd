#include "lockstep/strategy/comm/cluster/mpi/mpi_cluster.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <lockstep/runtime/core/logging.h>

namespace lockstep {
namespace {

using namespace std::chrono_literals;

// Tags of messages that do not belong to an operation. The tags of operations are larger.
constexpr int notice_tag = 1;
constexpr int alive_tag = 2;

// The first letter of a notice: the sender leaves, or it has failed and the failure's message follows.
constexpr char left_mark = 'L';
constexpr char failed_mark = 'F';

/// The longest time for which a live worker on a busy machine sends nothing.
constexpr auto short_silence = 500ms;
/// The longest time that a failed worker waits until its notices have been sent.
constexpr auto farewell = 2s;
/// The longest time that a worker waits after a failure for the other workers to leave.
constexpr auto end_after_failure = 5s;

}  // namespace

MpiCluster::MpiCluster(std::shared_ptr<MpiLibrary> library, MPI_Comm workers, ClusterOptions options)
    : library_(std::move(library)), peers_{.comm = workers}, options_(std::move(options)) {
  {
    const std::lock_guard lock(library_->mutex());
    check_mpi(MPI_Comm_size(peers_.comm, &peers_.size), "MPI_Comm_size");
    check_mpi(MPI_Comm_rank(peers_.comm, &peers_.rank), "MPI_Comm_rank");
  }
  heard_.assign(static_cast<std::size_t>(peers_.size), Clock::now());
  left_.assign(static_cast<std::size_t>(peers_.size), false);
  alive_.assign(static_cast<std::size_t>(peers_.size), MPI_REQUEST_NULL);
  hosts_.assign(static_cast<std::size_t>(peers_.size), "?");
  thread_ = std::thread([this] { serve(); });
  try {
    find_hosts();
  } catch (...) {
    leave();
    throw;
  }
}

MpiCluster::~MpiCluster() { leave(); }

void MpiCluster::leave() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
  const std::lock_guard lock(library_->mutex());
  if (!notices_.empty()) keep_for_sends(std::make_shared<std::list<Notice>>(std::move(notices_)));
  if (all_left())
    MPI_Comm_free(&peers_.comm);
  else
    library_->leave_unfinished();
}

void MpiCluster::find_hosts() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  {
    const std::lock_guard lock(library_->mutex());
    check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  }
  hosts_ = all_gather("the start", std::string_view(name, static_cast<std::size_t>(length)));
}

std::vector<std::string> MpiCluster::all_gather(std::string_view place, std::string_view own, Channel channel) {
  MpiGather gather(peers_, place, own, channel);
  wait_for(gather);
  const std::vector<std::string> places = gather.places();
  std::vector<std::string> texts = gather.texts();
  for (int worker = 0; worker < peers_.size; ++worker)
    if (places[static_cast<std::size_t>(worker)] == report_place)
      throw_together("{}: {}", name_of(worker), texts[static_cast<std::size_t>(worker)]);
  for (int worker = 1; worker < peers_.size; ++worker)
    if (const std::string& other = places[static_cast<std::size_t>(worker)]; other != places.front())
      throw_together<LogicError>("the workers do not do the same: {} is at {}, {} is at {}", name_of(0), places.front(),
                                 name_of(worker), other);
  return texts;
}

void MpiCluster::exchange(std::string_view place, std::span<const std::span<const std::byte>> to,
                          std::span<const std::span<std::byte>> from, Channel channel) {
  MpiExchange exchange(peers_, place, to, from, channel);
  wait_for(exchange);
}

void MpiCluster::wait_for(MpiOperation& operation) {
  std::unique_lock lock(mutex_);
  if (failure_) throw_failure();
  queues_[static_cast<std::size_t>(operation.channel())].push_back(&operation);
  changed_.notify_all();
  changed_.wait(lock, [&] { return !is_waited_for(operation); });
  if (!operation.done) throw_failure();
}

void MpiCluster::throw_failure() const {
  if (failure_->timeout) fail<Timeout>("{}", failure_->message);
  fail<WorkerFailed>("{}", failure_->message);
}

void MpiCluster::fail_all(std::string_view why) noexcept {
  try {
    const std::string message = fmt::format("{} failed: {}", name_of(peers_.rank), why.substr(0, why.find('\n')));
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;  // an earlier failure has been reported
    }
    fail_here(message);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, farewell, [&] { return notices_sent_; });
  } catch (const std::exception& error) {
    log_warning("the other workers were not notified of a failure: {}", error.what());
  }
}

std::string MpiCluster::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_ ? failure_->message : std::string();
}

/// Records the first failure, which makes the cluster unusable, and causes notices to all other workers.
void MpiCluster::fail_here(const std::string& message, bool timeout) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = Failure{.message = message, .timeout = timeout};
  unsent_.push_back(failed_mark + message);
  notices_sent_ = false;
  changed_.notify_all();
}

void MpiCluster::serve() {
  last_poll_ = Clock::now();
  std::optional<Clock::time_point> left;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (leaving_ && !left) {
        left = Clock::now();
        unsent_.push_back({left_mark});
        notices_sent_ = false;
      }
    }
    const std::vector<MpiOperation*> operations = active_operations();
    try {
      const std::lock_guard lock(library_->mutex());
      poll(operations);
    } catch (const std::exception& error) {
      fail_here(error.what());
    }
    for (MpiOperation* const operation : operations) finish(*operation);
    if (left && may_end(*left)) return;
    rest(!operations.empty());
  }
}

std::vector<MpiOperation*> MpiCluster::active_operations() {
  const std::lock_guard lock(mutex_);
  std::vector<MpiOperation*> operations;
  for (const auto& queue : queues_)
    if (!queue.empty()) operations.push_back(queue.front());
  return operations;
}

bool MpiCluster::is_waited_for(const MpiOperation& operation) const {
  const auto& queue = queues_[static_cast<std::size_t>(operation.channel())];
  return std::ranges::find(queue, &operation) != queue.end();
}

bool MpiCluster::has_work() const {
  return !unsent_.empty() || std::ranges::any_of(queues_, [](const auto& queue) { return !queue.empty(); });
}

/// Returns a finished operation to its caller; after a failure, cancels and returns any operation.
void MpiCluster::finish(MpiOperation& operation) {
  bool failed = false;
  {
    const std::lock_guard lock(mutex_);
    failed = failure_.has_value();
  }
  if (failed) {
    const std::lock_guard lock(library_->mutex());
    operation.cancel();
  }
  if (!operation.done && !failed) return;
  const std::lock_guard lock(mutex_);
  queues_[static_cast<std::size_t>(operation.channel())].pop_front();
  changed_.notify_all();
}

void MpiCluster::poll(std::span<MpiOperation* const> operations) {
  const Clock::time_point now = Clock::now();
  // If this process was stopped, for example by a debugger, messages that arrived in the meantime are still unread.
  if (now - last_poll_ > short_silence) std::ranges::fill(heard_, now);
  last_poll_ = now;
  receive_messages();
  send_notices();
  send_heartbeats();
  for (MpiOperation* const operation : operations) advance(*operation);
}

void MpiCluster::advance(MpiOperation& operation) {
  if (!operation.started) {
    operation.started = Clock::now();
    operation.start();
  }
  const std::size_t before = operation.progress();
  operation.done = operation.advance();
  if (operation.done || operation.progress() != before) idle_polls_ = 0;
  if (!operation.done) check_waits(operation);
}

void MpiCluster::receive_messages() {
  int found = 1;
  while (found) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Improbe(MPI_ANY_SOURCE, alive_tag, peers_.comm, &found, &message, &status), "MPI_Improbe");
    if (!found) break;
    receive_text(message, status);
    heard_[static_cast<std::size_t>(status.MPI_SOURCE)] = Clock::now();
  }
  found = 1;
  while (found) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Improbe(MPI_ANY_SOURCE, notice_tag, peers_.comm, &found, &message, &status), "MPI_Improbe");
    if (found) hear_notice(message, status);
  }
}

void MpiCluster::hear_notice(MPI_Message message, const MPI_Status& status) {
  const std::string text = receive_text(message, status);
  const auto sender = static_cast<std::size_t>(status.MPI_SOURCE);
  heard_[sender] = Clock::now();
  if (text.front() == left_mark) {
    left_[sender] = true;
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = Failure{.message = text.substr(1)};
}

void MpiCluster::send_heartbeats() {
  const Clock::time_point now = Clock::now();
  if (sent_leave_notice_ || now - last_heartbeat_ < std::max<Clock::duration>(100ms, 5ms * peers_.size)) return;
  last_heartbeat_ = now;
  for (int worker = 0; worker < peers_.size; ++worker) {
    MPI_Request& request = alive_[static_cast<std::size_t>(worker)];
    int done = 1;
    if (request != MPI_REQUEST_NULL) check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (worker == peers_.rank || !done) continue;
    request = start_send({}, worker, alive_tag, peers_.comm);
  }
}

void MpiCluster::send_notices() {
  std::vector<std::string> texts;
  {
    const std::lock_guard lock(mutex_);
    texts.swap(unsent_);
  }
  for (const std::string& text : texts) {
    if (!sent_leave_notice_) notify_all(text);
    sent_leave_notice_ = sent_leave_notice_ || text.front() == left_mark;
  }
  std::erase_if(notices_, [](Notice& notice) {
    int done = 0;
    check_mpi(MPI_Test(&notice.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  if (!notices_.empty()) return;
  const std::lock_guard lock(mutex_);
  if (notices_sent_ || !unsent_.empty()) return;
  notices_sent_ = true;
  changed_.notify_all();
}

void MpiCluster::notify_all(const std::string& text) {
  for (int worker = 0; worker < peers_.size; ++worker) {
    if (worker == peers_.rank) continue;
    Notice& notice = notices_.emplace_back(Notice{.text = text});
    notice.request = start_send(std::as_bytes(std::span(notice.text)), worker, notice_tag, peers_.comm);
  }
}

void MpiCluster::check_waits(const MpiOperation& operation) {
  const Clock::time_point now = Clock::now();
  const bool ending = options_.asked_to_end && options_.asked_to_end();
  const auto limit = ending ? std::min<Clock::duration>(short_silence, options_.silence_limit) : options_.silence_limit;
  std::vector<int> gone;
  std::vector<int> silent;
  const std::vector<int> awaited = operation.awaited();
  for (const int worker : awaited) {
    const Clock::duration silence = now - heard_[static_cast<std::size_t>(worker)];
    // A worker's notice that it leaves may have overtaken its earlier messages.
    if (left_[static_cast<std::size_t>(worker)] && silence > short_silence) gone.push_back(worker);
    if (silence > limit) silent.push_back(worker);
  }
  const auto waited_s = std::chrono::duration<double>(now - *operation.started).count();
  if (!gone.empty())
    fail_here(fmt::format("{} ended while others waited for it at {}", names_of(gone), operation.place()));
  else if (!silent.empty())
    fail_here(
        fmt::format("{} does not answer any more: it died, was stopped, or its network is down; others wait for "
                    "it at {}",
                    names_of(silent), operation.place()));
  else if (now - *operation.started > options_.timeout)
    fail_here(fmt::format("{} did not reach {} within {:.1f} s{}", names_of(awaited), operation.place(), waited_s,
                          describe_silence(awaited, now)),
              true);
}

/// A text such as "; worker 1 (host b) has said nothing for 2.9 s" for each worker that has been silent for long.
std::string MpiCluster::describe_silence(const std::vector<int>& workers, Clock::time_point now) const {
  std::string text;
  for (const int worker : workers) {
    const Clock::duration silence = now - heard_[static_cast<std::size_t>(worker)];
    if (silence > short_silence)
      text += fmt::format("; {} has said nothing for {:.1f} s", name_of(worker),
                          std::chrono::duration<double>(silence).count());
  }
  return text;
}

/// Leaves the core to other threads, for a moment while operations are running (`busy`), and longer otherwise.
void MpiCluster::rest(bool busy) {
  if (busy) {
    if (++idle_polls_ < 500) return std::this_thread::yield();
    return std::this_thread::sleep_for(50us);
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, 5ms, [&] { return has_work(); });
}

bool MpiCluster::all_left() const {
  for (int worker = 0; worker < peers_.size; ++worker)
    if (worker != peers_.rank && !left_[static_cast<std::size_t>(worker)]) return false;
  return true;
}

/// Whether the thread may end. `since`: the time at which this worker began to leave.
bool MpiCluster::may_end(Clock::time_point since) {
  bool failed = false;
  {
    const std::lock_guard lock(mutex_);
    if (has_work()) return false;
    failed = failure_.has_value();
    if (notices_sent_ && all_left()) return true;
  }
  const auto limit = failed ? std::chrono::milliseconds(end_after_failure) : options_.timeout;
  if (Clock::now() - since > limit) return true;
  // After a failure, this process waits only for workers from which it has heard within the last second.
  const auto silence = failed ? std::chrono::milliseconds(2 * short_silence) : options_.silence_limit;
  for (int worker = 0; worker < peers_.size; ++worker) {
    const auto of = static_cast<std::size_t>(worker);
    if (worker != peers_.rank && !left_[of] && Clock::now() - heard_[of] <= silence) return false;
  }
  return true;
}

std::string MpiCluster::names_of(const std::vector<int>& workers) const {
  std::vector<std::string> names;
  for (const int worker : workers) names.push_back(name_of(worker));
  return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace lockstep
