require_relative "bird"

birds = [
  Bird.new("gull", wingspan: 1.3),
  Bird.new("tern", wingspan: 0.8),
  Bird.new("albatross", wingspan: 3.2),
]

birds.sort.each { |bird| puts bird }

mean = birds.sum(&:wingspan) / birds.size
puts format("mean      %4.2f m", mean)
