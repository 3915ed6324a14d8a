// Keeps what clients did to the screen of an execution.

#ifndef SERVER_SCREEN_SCREEN_MARKS_H_
#define SERVER_SCREEN_SCREEN_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace server {

// Kept in a file, so that the next server knows it, too. Lines of text:
//
//   of 5          identifies the execution; another one's file is ignored
//   clear 1234    the screen was cleared after this many bytes of output
//   answered      a client answers what the program asks its terminal
//
// Incomplete and unknown lines are ignored. If a mark cannot be written, that
// is logged, and the mark lasts as long as this object, or is written with the
// next one. Not thread-safe; calls block on the disk.
class ScreenMarks {
 public:
  // Reads the file, if there is one. Its directory is made when it is needed.
  // `of`: differs between executions that have the same name, one after the
  // other.
  ScreenMarks(std::string path, const std::string& of);

  // The offsets of the clears, in ascending order. Only the last kMaxClears are
  // kept.
  const std::vector<uint64_t>& clears() const { return clears_; }
  bool answered() const { return answered_; }

  // `offset` must not be below the last one.
  void AddClear(uint64_t offset);
  void SetAnswered();
  // The execution was deleted.
  void Remove();

  static constexpr size_t kMaxClears = 1000;

 private:
  void Read();
  // Adds a line to the file, or writes the file anew when it has grown.
  void Append(const std::string& line);
  void Write(const std::string& text, int flags);

  const std::string path_;
  const std::string first_line_;
  std::vector<uint64_t> clears_;
  bool answered_ = false;
  // The number of lines in the file; 0: it must be written anew.
  size_t lines_ = 0;
};

}  // namespace server

#endif  // SERVER_SCREEN_SCREEN_MARKS_H_
