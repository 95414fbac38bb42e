# Loaded before the program: complete lines are there when the run is ended, and
# messages name files as they were submitted.
$stdout.sync = true

# Frames of an exception, and its message where Ruby itself prints it.
module SubmittedNames
  FOLDER = "#{Dir.pwd}/"
  private_constant :FOLDER

  def backtrace
    super&.map { |frame| frame.delete_prefix(FOLDER) }
  end

  def detailed_message(...)
    super.gsub(FOLDER, "")
  end
end

Exception.prepend(SubmittedNames)
# Ruby's own library adds the path of the file once more.
SyntaxError.prepend(SubmittedNames)
Object.send(:remove_const, :SubmittedNames)
