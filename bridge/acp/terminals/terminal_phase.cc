#include "bridge/acp/terminals/terminal_phase.h"

namespace bridge {
namespace {

TerminalPhase AfterEnd(TerminalPhase phase) {
  switch (phase) {
    case TerminalPhase::kRunning:
      return TerminalPhase::kEnded;
    case TerminalPhase::kReleasing:
      return TerminalPhase::kDeleting;
    case TerminalPhase::kClosing:
      return TerminalPhase::kForgotten;
    case TerminalPhase::kEnded:
    case TerminalPhase::kDeleting:
    case TerminalPhase::kForgotten:
      return phase;
  }
  return phase;
}

TerminalPhase AfterRelease(TerminalPhase phase) {
  switch (phase) {
    case TerminalPhase::kRunning:
      return TerminalPhase::kReleasing;
    case TerminalPhase::kEnded:
      return TerminalPhase::kDeleting;
    case TerminalPhase::kReleasing:
    case TerminalPhase::kClosing:
    case TerminalPhase::kDeleting:
    case TerminalPhase::kForgotten:
      return phase;
  }
  return phase;
}

TerminalPhase AfterSessionClosed(TerminalPhase phase) {
  switch (phase) {
    case TerminalPhase::kRunning:
    case TerminalPhase::kReleasing:
      return TerminalPhase::kClosing;
    case TerminalPhase::kEnded:
      return TerminalPhase::kForgotten;
    case TerminalPhase::kClosing:
    case TerminalPhase::kDeleting:
    case TerminalPhase::kForgotten:
      return phase;
  }
  return phase;
}

}  // namespace

TerminalPhase NextPhase(TerminalPhase phase, TerminalEvent event) {
  switch (event) {
    case TerminalEvent::kEnded:
      return AfterEnd(phase);
    case TerminalEvent::kReleased:
      return AfterRelease(phase);
    case TerminalEvent::kSessionClosed:
      return AfterSessionClosed(phase);
  }
  return phase;
}

bool IsHeld(TerminalPhase phase) {
  return phase == TerminalPhase::kRunning || phase == TerminalPhase::kEnded;
}

}  // namespace bridge
