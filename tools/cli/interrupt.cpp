#include "interrupt.h"

#include <csignal>
#include <exception>

#include <lockstep/models/training/model.h>

namespace lockstep::cli {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void note_interrupt(int signal) {
  interrupt_seen = signal;
  if (signal == SIGINT) std::signal(signal, SIG_DFL);  // a second Ctrl-C ends the program at once
}

}  // namespace

InterruptCallback::InterruptCallback() {
  interrupt_seen = 0;
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
}

InterruptCallback::~InterruptCallback() {
  // When one worker fails, mpirun sends SIGTERM to the others, which must still report what they know about the
  // failure.
  if (std::uncaught_exceptions() > 0) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

void InterruptCallback::on_train_batch_end(Model& model, const StepReport&) {
  if (interrupted()) model.interrupt_training();
}

int InterruptCallback::exit_code() {
  constexpr int by_signal = 128;
  const int signal = interrupt_seen;
  return signal == 0 ? 0 : by_signal + signal;
}

}  // namespace lockstep::cli
