#include "records/exchange/t4_files.h"

#include <filesystem>

#include "src/base/files/folder.h"
#include "src/base/text/plural.h"
#include "src/space/exchange/cachefile.h"
#include "src/space/exchange/gzip.h"

namespace tilewright::records {

Result<std::vector<T4Import>> ImportT4Files(Store& store, const std::vector<std::string>& files,
                                            const T4ImportOptions& options) {
  std::vector<T4Import> imports;
  T4ImportOptions first = options;
  first.dry_run = options.dry_run || files.size() > 1;
  for (const std::string& file : files) {
    TW_ASSIGN_OR_RETURN(auto import, ImportT4(store, file, first));
    imports.push_back(std::move(import));
  }
  if (first.dry_run == options.dry_run) return imports;
  for (std::size_t i = 0; i < files.size(); ++i) {
    TW_ASSIGN_OR_RETURN(imports[i], ImportT4(store, files[i], options));
  }
  return imports;
}

Result<std::string> T4FileText(const T4Space& space, const std::string& format) {
  if (format == "t4") return space.file.ToString();
  if (format == "t1") {
    if (!space.t1.empty()) return space.t1;
    return InvalidArgument(space.name + ": only tasks of programs have a T1 file");
  }
  TW_ASSIGN_OR_RETURN(const CacheFile cache, ToCacheFile(space.file));
  return cache.ToString();
}

Status WriteT4Files(const T4Export& exported, const std::string& format,
                    const std::string& output) {
  std::error_code failed;  // then it is no folder
  const bool folder = output.ends_with('/') || std::filesystem::is_directory(output, failed);
  if (exported.spaces.size() > 1 && !folder) {
    return InvalidArgument(Counted(std::ssize(exported.spaces), "file") +
                           ", one for each task and template: expected --output FOLDER/ (with the "
                           "slash) or one --task");
  }
  if (folder && !exported.spaces.empty()) TW_RETURN_IF_ERROR(MakeFolder(output));
  const std::string ending = format == "t1"   ? ".T1.json"
                             : format == "t4" ? ".T4.json.gz"
                                              : ".cachefile.json.gz";
  for (const T4Space& space : exported.spaces) {
    TW_ASSIGN_OR_RETURN(const std::string text, T4FileText(space, format));
    const std::filesystem::path file(output);
    TW_RETURN_IF_ERROR(
        WriteMaybeGzip(folder ? (file / (space.name + ending)).string() : output, text));
  }
  return {};
}

}  // namespace tilewright::records
