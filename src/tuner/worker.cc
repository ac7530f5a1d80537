#include "src/tuner/worker.h"

#include <dlfcn.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "measure/workers.h"
#include "src/base/files/file.h"
#include "src/base/printable.h"
#include "src/base/stack.h"
#include "src/base/standard_streams.h"
#include "src/session/measurer.h"
#include "src/templates/text/text_template.h"

namespace tilewright::tuner {
namespace {

constexpr const char* kTextOption = "--schedule-text";

int Work(int argc, char** argv) {
  FixupStandardStreams();
  // A write error instead of a signal at the file size limit or if the reader is gone.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (std::strcmp(argv[0], "run") == 0) return measure::RunWorkerMain(0, 1);
  TemplateRegistry templates = *Tuner::Data().templates;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto added = AddWorkerSchedule(templates, argv[i + 1], kTextOption);
    if (added.ok()) continue;
    std::fprintf(stderr, "tuner-worker: %s\n", Printable(added.message()).c_str());
    return 2;
  }
  return measure::BuildWorkerMain(templates, 0, 1);
}

}  // namespace

std::string LibraryFile() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&tilewright_tuner_work), &info) == 0) return {};
  if (info.dli_fname == nullptr) return {};
  // The working folder may change later.
  char* whole = ::realpath(info.dli_fname, nullptr);
  std::string path = whole != nullptr ? whole : info.dli_fname;
  std::free(whole);
  return path;
}

std::string InstalledWorker() {
  const std::string library = LibraryFile();
  const auto slash = library.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : library.substr(0, slash);
  return folder + "/tilewright/tuner-worker";
}

::tilewright::Result<std::unique_ptr<measure::ProcessMeasurer>> StartMeasurer(
    const Tuner::Data& tuner) {
  if (!FileExists(tuner.worker)) {
    return Unavailable(tuner.worker +
                       ": no such program, expected the worker of the tuner: the one" +
                       " installed with the library, or TunerOptions::worker");
  }
  const std::string library = LibraryFile();
  session::WorkerCommands workers{{tuner.worker, library, "build"}, {tuner.worker, library, "run"}};
  for (const std::string& text : tuner.texts) {
    workers.build.insert(workers.build.end(), {kTextOption, text});
  }
  TW_ASSIGN_OR_RETURN(
      auto settings, session::MeasurerSettings(workers, tuner.target, {}, {}, session::IgnoreNote));
  settings.runner.probe_baseline_file.clear();  // a library writes no files other than the store
  return measure::ProcessMeasurer::Create(std::move(settings));
}

}  // namespace tilewright::tuner

extern "C" int tilewright_tuner_work(int argc, char** argv) {
  return ::tilewright::RunWithLargeStack(&::tilewright::tuner::Work, argc, argv);
}
