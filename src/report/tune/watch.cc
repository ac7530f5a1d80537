#include "src/report/tune/watch.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "src/base/clock.h"
#include "src/base/json.h"
#include "src/report/gather.h"
#include "src/report/page.h"
#include "src/report/server.h"
#include "src/report/tune/progress.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kWatchedPoints = 12'000;  // an eighth of a core for a hundred thousand trials
constexpr std::size_t kWatchedTrials = 6'000;   // listed: an open page reads them every two seconds
constexpr double kMinPauseSeconds = 2;
constexpr double kPauseFactor = 20;  // at most 5 % of a core's time go to the page

}  // namespace

struct TuneWatch::State {
  const TemplateRegistry* templates = nullptr;
  std::string store, title, program;
  SystemClock clock;
  std::optional<ProgressObserver> observer;
  std::mutex mutex;  // guards the following members, up to the server
  bool live = true;
  std::optional<Document> document;
  double gathered_at = 0, gathering_took = 0;
  std::optional<WatchServer> server;  // last: destroyed first, uses the others

  /// Returns the document; gathers it again if it is old. Errors: the store's.
  Result<const Document*> Look() {
    const double now = clock.MonotonicSeconds();
    const double pause = std::max(kMinPauseSeconds, kPauseFactor * gathering_took);
    const std::string job = observer ? observer->job() : "";
    if (document && document->live == live && now - gathered_at < pause) {
      if (live && observer) document->progress = observer->Progress();
      return &*document;
    }
    Document fresh;
    fresh.title = title;
    fresh.program = program;
    fresh.live = live;
    fresh.made_unix = clock.UnixSeconds();
    if (!job.empty()) {
      GatherOptions options;
      options.templates = templates;
      options.job = job;
      options.max_points = kWatchedPoints;
      options.max_listed = kWatchedTrials;
      const Status gathered = GatherStore(store, options, fresh);
      // No trials yet: the page says so.
      if (!gathered.ok() && gathered.code() != StatusCode::kNotFound) return gathered;
    }
    if (live && observer) fresh.progress = observer->Progress();
    document = std::move(fresh);
    gathered_at = clock.MonotonicSeconds();
    gathering_took = gathered_at - now;
    return &*document;
  }

  Result<std::string> Page() {
    const std::lock_guard lock(mutex);
    TW_ASSIGN_OR_RETURN(auto seen, Look());
    return MakePage(*seen);
  }

  Result<std::string> Data() {
    const std::lock_guard lock(mutex);
    TW_ASSIGN_OR_RETURN(auto seen, Look());
    return PageData(*seen);
  }
};

Result<TuneWatch> TuneWatch::Start(const TemplateRegistry& templates, const std::string& store,
                                   const std::string& title, const std::string& program) {
  TW_RETURN_IF_ERROR(CheckPage());
  auto state = std::make_unique<State>();
  State* const self = state.get();
  state->templates = &templates;
  state->store = store;
  state->title = title;
  state->program = program;
  TW_ASSIGN_OR_RETURN(auto server, WatchServer::Start({[self] { return self->Page(); },
                                                       [self] { return self->Data(); }}));
  state->server.emplace(std::move(server));
  return TuneWatch(std::move(state));
}

TuneWatch::TuneWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
TuneWatch::TuneWatch(TuneWatch&&) noexcept = default;
TuneWatch& TuneWatch::operator=(TuneWatch&&) noexcept = default;
TuneWatch::~TuneWatch() = default;

search::TuneObserver& TuneWatch::Observe(search::TuneObserver& next, std::size_t tasks,
                                         std::int64_t trials) {
  const std::lock_guard lock(state_->mutex);
  return state_->observer.emplace(next, tasks, trials, state_->clock);
}

const std::string& TuneWatch::address() const { return state_->server->address(); }

void TuneWatch::Finish() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->live = false;
  }
  state_->server->Finish();
}

}  // namespace tilewright::report
