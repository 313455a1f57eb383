#include "cli/flags/file_arguments.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "shunt/files.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {}  // namespace

std::filesystem::path resolved_path(const std::string& path) {
  std::error_code unknown;
  const auto absolute = std::filesystem::absolute(path, unknown);
  auto resolved = std::filesystem::weakly_canonical(absolute, unknown);
  return unknown ? absolute.lexically_normal() : resolved;
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first = {};
  struct stat second = {};
  const bool has_first = ::stat(a.c_str(), &first) == 0;
  const bool has_second = ::stat(b.c_str(), &second) == 0;
  if (has_first && has_second) {
    if (S_ISBLK(first.st_mode) && S_ISBLK(second.st_mode)) return first.st_rdev == second.st_rdev;
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  }
  if (has_first || has_second) return false;
  return resolved_path(a) == resolved_path(b);
}

void FileArguments::add_input(std::string label, Paths paths) {
  inputs_.push_back({std::move(label), std::move(paths)});
}

void FileArguments::add_stream_input(std::string label, Paths paths) {
  inputs_.push_back({std::move(label), std::move(paths), true});
}

void FileArguments::add_output(std::string label, OutputFormat format, Paths paths) {
  outputs_.push_back({std::move(label), format, std::move(paths)});
}

std::vector<FileArguments::NamedPath> FileArguments::read_paths() const {
  std::vector<NamedPath> read;
  for (const Input& input : inputs_) {
    for (const std::string& path : input.paths()) {
      if (input.is_stream && path == kStandardStream) {
        read.push_back({input.label, "/dev/stdin"});
        continue;
      }
      for (std::string& part : gguf::part_paths(path)) {
        read.push_back({input.label, std::move(part)});
      }
    }
  }
  return read;
}

Status FileArguments::check() const {
  const std::vector<NamedPath> read = read_paths();
  std::vector<NamedPath> written;
  for (const Output& output : outputs_) {
    for (const std::string& path : output.paths())
      SHUNT_TRY(check_output(output, path, read, written));
  }
  return ok();
}

Status FileArguments::check_output(const Output& output, const std::string& path,
                                   std::span<const NamedPath> read,
                                   std::vector<NamedPath>& written) {
  const bool is_stream = path == kStandardStream;
  if (output.format != OutputFormat::kText && (is_stream || is_open_file(path))) {
    return invalid("{} {}: a {} cannot be written to standard output; name a file", output.label,
                   path, output.format == OutputFormat::kGguf ? "GGUF file" : "saved sequence");
  }
  NamedPath next = {output.label, is_stream ? "/dev/stdout" : path};
  const auto same = [&](const NamedPath& other) {
    return is_same_file(other.path, next.path) || (is_stream && other.path == next.path);
  };
  if (const auto input = std::ranges::find_if(read, same); input != read.end()) {
    return invalid("{} {}: {} reads this file; write to another one", output.label, path,
                   input->label);
  }
  if (const auto other = std::ranges::find_if(written, same); other != written.end()) {
    return invalid("{} {}: {} writes this file, too; write to another one", output.label, path,
                   other->label);
  }
  written.push_back(std::move(next));
  return ok();
}

Status FileArguments::probe() const {
  for (const Output& output : outputs_) {
    for (const std::string& path : output.paths()) {
      struct stat there = {};
      const bool exists = ::stat(path.c_str(), &there) == 0;
      const bool is_folder = exists && S_ISDIR(there.st_mode);
      // Closing a pipe would end the input of its reader. An open file can be written.
      const bool in_place = exists && !S_ISREG(there.st_mode) && !is_folder;
      const bool is_text = output.format == OutputFormat::kText;
      if (path == kStandardStream || (is_text && (in_place || is_open_file(path)))) continue;
      SHUNT_TRY(OutputFile::create(path, is_text ? WriteTo::kAnything : WriteTo::kFile));
    }
  }
  return ok();
}

bool FileArguments::uses_standard_output() const {
  return std::ranges::any_of(outputs_, [](const Output& output) {
    return std::ranges::count(output.paths(), kStandardStream) > 0;
  });
}

}  // namespace shunt::cli
