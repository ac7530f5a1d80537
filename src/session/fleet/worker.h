#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/fleet/broker.h"
#include "measure/fleet/connect.h"
#include "measure/fleet/executor.h"
#include "measure/fleet/fake_executor.h"
#include "measure/fleet/open/program_executor.h"
#include "measure/fleet/worker_core.h"
#include "measure/supervisor/process_measurer.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/session/notes.h"
#include "src/target/target.h"

// Workers of a fleet: this machine's devices and builders serve the jobs of other machines.

namespace tilewright::session {

/// Who a worker is, and what it does.
struct WorkerProfile {
  measure::fleet::Address address;
  std::string name;     ///< measure::fleet::CheckName
  std::string version;  ///< of the program
  bool measures = false;
  bool builds = false;
  bool builds_for_others = false;  ///< also for devices of other workers
  /// Receives messages of a seat, by its name.
  std::function<void(const std::string& seat, const std::string& text)> note;
};

/// Returns a name for a worker without a key: that of this machine.
std::string WorkerNameOfHost();

/// Connection of one device, or of the builders, of a worker.
struct WorkerSeat {
  measure::fleet::WorkerSettings settings;
  std::unique_ptr<measure::fleet::Broker> broker;
  std::unique_ptr<measure::fleet::Executor> executor;
};

/// Opens a seat for a device of this machine or of a runner. number: of the seat. settings: with
/// the device.
/// Errors: those of measure::fleet::Connect and ProcessExecutor::Create.
Result<WorkerSeat> OpenDeviceSeat(const WorkerProfile& profile, int number, const Target& target,
                                  measure::ProcessMeasurerSettings settings);
/// Opens a seat for programs of the user, the only commands that it runs.
/// Errors: those of measure::fleet::Connect and ProgramExecutor::Create; kInvalidArgument for too
/// many programs.
Result<WorkerSeat> OpenProgramSeat(const WorkerProfile& profile,
                                   std::vector<measure::fleet::ProgramExecutor::Program> programs);
/// Opens a seat for a fake device, whose trials take some seconds, for tests of a fleet. clock:
/// outlives the seat. slowness: see FakeExecutor::Settings; may be empty.
/// Errors: those of measure::fleet::Connect.
Result<WorkerSeat> OpenFakeSeat(const WorkerProfile& profile, int number, double seconds,
                                std::function<double(double)> slowness, Clock& clock);

/// Serves the jobs of a fleet until a signal, each seat on a thread of its own. stop: number of the
/// signal, 0 for none. After the first one the seats finish their orders; SIGTERM or a second one
/// ends them at once. failed: receives the error of a seat, whose others go on; it is called from
/// several threads at once. seats: at least one.
/// Returns true if no seat failed.
bool ServeSeats(std::span<WorkerSeat> seats, std::atomic<int>& stop, Clock& clock,
                const std::function<void(const std::string& seat, const Status& why)>& failed);

}  // namespace tilewright::session
