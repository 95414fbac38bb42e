# Loaded before the program: complete lines are there when the run is ended, and
# messages name files as they were submitted.
$stdout.sync = true

# Frames of an exception, and its message if Ruby itself prints it.
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

# Compiles the file that the command line names. The launcher removes the name of
# this module.
module Submission
  def self.compile(entry)
    text = File.binread(entry)
    $VERBOSE = true if text.match?(/\A#!.*\bruby\b.* -w\b/)
    if (data = text.match(/^__END__(?:\r?\n|\z)/)&.end(0))
      Object.const_set(:DATA, File.open(entry).tap { |file| file.seek(data) })
    end
    RubyVM::InstructionSequence.compile_file(entry)
  rescue StandardError, SyntaxError => error
    error.set_backtrace(error.backtrace.grep_v(%r{^/opt/sandpiper/}))
    raise
  end
end
