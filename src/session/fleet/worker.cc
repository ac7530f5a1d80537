#include "src/session/fleet/worker.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "measure/fleet/device_registry.h"
#include "measure/fleet/process_executor.h"
#include "measure/fleet/subjects.h"
#include "src/base/hash.h"
#include "src/base/thread.h"

namespace tilewright::session {
namespace {

namespace fleet = measure::fleet;

Result<WorkerSeat> OpenSeat(const WorkerProfile& profile, int number) {
  WorkerSeat seat;
  TW_ASSIGN_OR_RETURN(seat.broker,
                      fleet::Connect(profile.address, "tilewright worker " + profile.name));
  seat.settings.name = {profile.name, "d" + std::to_string(number)};
  fleet::Announcement& announcement = seat.settings.announcement;
  // Distinguishes processes with the same name.
  const double now = SystemClock().UnixSeconds();
  announcement.instance =
      HexOf(Mix64(Fnv1a64(std::to_string(::getpid()) + "/" + std::to_string(now))));
  announcement.version = profile.version;
  announcement.measures = profile.measures;
  announcement.builds = profile.builds;
  seat.settings.builds_for_others = profile.builds_for_others;
  const std::string who = seat.settings.name.ToString();
  seat.settings.on_note = [who, note = profile.note](const std::string& text) { note(who, text); };
  return seat;
}

Status ServeSeat(WorkerSeat& seat, std::atomic<int>& stop, Clock& clock) {
  fleet::WorkerCore core(seat.settings, *seat.executor, *seat.broker, clock);
  TW_RETURN_IF_ERROR(core.Open());
  constexpr double kPollSeconds = 0.1;
  bool draining = false;
  while (!core.drained()) {
    core.Poll(kPollSeconds);
    TW_RETURN_IF_ERROR(seat.executor->status());
    if (stop.load() == 0) continue;
    if (draining || stop.load() == SIGTERM) break;
    draining = true;
    stop.store(0);
    core.Drain();
  }
  core.Close();
  return {};
}

}  // namespace

std::string WorkerNameOfHost() {
  std::array<char, 65> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "worker";
  std::string text = name.data();
  for (char& c : text) {
    if (!fleet::IsName(std::string(1, c))) c = '-';
  }
  return text.empty() ? "worker" : text.substr(0, 64);
}

Result<WorkerSeat> OpenDeviceSeat(const WorkerProfile& profile, int number, const Target& target,
                                  measure::ProcessMeasurerSettings settings) {
  TW_ASSIGN_OR_RETURN(auto seat, OpenSeat(profile, number));
  const DeviceFingerprint device = *settings.device;
  fleet::Broker* broker = seat.broker.get();
  TW_ASSIGN_OR_RETURN(auto executor, fleet::ProcessExecutor::Create(std::move(settings),
                                                                    [broker] { broker->Wake(); }));
  fleet::Announcement& announcement = seat.settings.announcement;
  announcement.fingerprint = device.ToString();
  announcement.target = target.ToString();
  announcement.resolution = profile.measures ? executor->measurer().resolution() : 0;
  const int capacity = executor->measurer().capacity();
  constexpr int kBehind = 2;  // one order runs, one is ready
  announcement.build_slots = std::max(1, capacity - kBehind);
  announcement.measure_slots = announcement.builds ? capacity : kBehind;
  seat.settings.device_class = fleet::ClassOf(device);
  seat.executor = std::move(executor);
  return seat;
}

Result<WorkerSeat> OpenProgramSeat(const WorkerProfile& profile,
                                   std::vector<fleet::ProgramExecutor::Program> programs) {
  if (programs.size() > fleet::kMaxPrograms) return InvalidArgument("--program: too many");
  TW_ASSIGN_OR_RETURN(auto seat, OpenSeat(profile, 0));
  fleet::Broker* broker = seat.broker.get();
  TW_ASSIGN_OR_RETURN(auto executor, fleet::ProgramExecutor::Create(std::move(programs),
                                                                    [broker] { broker->Wake(); }));
  fleet::Announcement& announcement = seat.settings.announcement;
  announcement.fingerprint = executor->device().ToString();
  announcement.target = "program";
  announcement.programs = executor->keys();
  announcement.build_slots = announcement.measure_slots = executor->capacity();
  seat.settings.device_class = fleet::ClassOf(executor->device());
  seat.executor = std::move(executor);
  return seat;
}

Result<WorkerSeat> OpenFakeSeat(const WorkerProfile& profile, int number, double seconds,
                                std::function<double(double)> slowness, Clock& clock) {
  TW_ASSIGN_OR_RETURN(auto seat, OpenSeat(profile, number));
  fleet::FakeExecutor::Settings settings;
  settings.seconds = seconds;
  settings.device = fleet::FakeExecutor::Device();
  settings.verified = true;
  if (slowness) settings.slowness = std::move(slowness);
  fleet::Announcement& announcement = seat.settings.announcement;
  announcement.fingerprint = settings.device.ToString();
  announcement.target = "llvm";
  // A fake device without delay takes many orders at a time.
  constexpr int kTwo = 2, kMany = 32;
  announcement.build_slots = announcement.measure_slots = seconds > 0 ? kTwo : kMany;
  seat.settings.device_class = fleet::ClassOf(settings.device);
  seat.executor = std::make_unique<fleet::FakeExecutor>(std::move(settings), clock);
  return seat;
}

bool ServeSeats(std::span<WorkerSeat> seats, std::atomic<int>& stop, Clock& clock,
                const std::function<void(const std::string& seat, const Status& why)>& failed) {
  std::atomic<bool> sound{true};
  const auto serve = [&](WorkerSeat& seat) {
    const Status status = ServeSeat(seat, stop, clock);
    if (status.ok()) return;
    failed(seat.settings.name.ToString(), status);
    sound = false;
  };
  std::vector<std::thread> threads;
  for (WorkerSeat& seat : seats.subspan(1)) {
    auto thread = StartThread([&serve, &seat] { serve(seat); });
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
      continue;
    }
    failed(seat.settings.name.ToString(), thread.status());
    sound = false;
  }
  serve(seats.front());
  for (std::thread& thread : threads) thread.join();
  return sound;
}

}  // namespace tilewright::session
