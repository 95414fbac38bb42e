# A bird, compared with others by its wings.
class Bird
  include Comparable

  attr_reader :name, :wingspan

  def initialize(name, wingspan:)
    @name = name
    @wingspan = wingspan
  end

  def <=>(other)
    wingspan <=> other.wingspan
  end

  def to_s
    format("%-9s %4.2f m", name, wingspan)
  end
end
