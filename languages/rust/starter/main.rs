mod bird;

use bird::Bird;

fn main() {
    let mut birds = vec![
        Bird::new("gull", 1.3),
        Bird::new("tern", 0.8),
        Bird::new("albatross", 3.2),
    ];
    birds.sort_by(|a, b| a.wingspan.total_cmp(&b.wingspan));
    for bird in &birds {
        println!("{bird}");
    }
    let mean = birds.iter().map(|bird| bird.wingspan).sum::<f64>() / birds.len() as f64;
    println!("{}", Bird::new("mean", mean));
}
