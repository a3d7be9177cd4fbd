#include "interrupt.h"

#include <csignal>

#include <lockstep/models/training/model.h>

namespace lockstep::cli {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void note_interrupt(int signal) {
  interrupt_seen = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptCallback::InterruptCallback() {
  interrupt_seen = 0;
  std::signal(SIGINT, note_interrupt);
}

InterruptCallback::~InterruptCallback() { std::signal(SIGINT, SIG_DFL); }

void InterruptCallback::on_step_end(Model& model, const StepReport&) {
  if (interrupted()) model.stop_training();
}

bool InterruptCallback::interrupted() { return interrupt_seen != 0; }

}  // namespace lockstep::cli
