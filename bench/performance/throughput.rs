//! Programs a second with all cores busy, beside xargs with the stock
//! toolchain; and whether more clients make it less.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

use crate::client::Asked;
use crate::row::{Bound, Row, Series, Unit};
use crate::sample::Sample;
use crate::stock::Stock;
use sandpiper_testkit::Reply;

/// How often each way is measured, and for about how long.
const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_secs(3);
/// Clients beside xargs: more than boxes, so that none is ever free.
const CLIENTS: usize = 8;
/// Clients that must not make it much less than the best of them.
const CROWDS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// A program that is run again and again.
struct Work {
    sample: &'static str,
    /// What xargs starts, once for each argument.
    stock: &'static str,
    /// What it starts to run the program alone, in namespaces as a box's.
    apart: &'static str,
    at_least_times: f64,
}

/// Starts a command in namespaces of its own. The folder that is the root
/// here is no mount, which the usual propagation would want it to be.
const UNSHARE: &str = "unshare --mount --propagation unchanged --pid --fork \
                       --net --ipc --uts --cgroup";

const WORK: [Work; 2] = [
    Work {
        sample: "python hello",
        stock: "python3 f.py >&2 # {}",
        apart: "exec $apart python3 f.py >&2 # {}",
        at_least_times: 0.65,
    },
    // Ours is compiled once.
    Work {
        sample: "c hello",
        stock: "gcc -O1 f.c -o f{} && ./f{} >&2",
        apart: "exec $apart ./f1 >&2 # {}",
        at_least_times: 6.0,
    },
];

pub(crate) fn measure(server: Asked) -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut rows = Vec::new();
    for work in WORK {
        let sample = &Sample::named(work.sample);
        let mut bare = Vec::new();
        let mut apart = Vec::new();
        let mut ours = Vec::new();
        let stock = Stock::of(sample);
        stock.write(sample, "0");
        for _ in 0..=ROUNDS {
            bare.push(xargs(&stock, work.stock));
            apart.push(xargs(&stock, work.apart));
            ours.push(runtime.block_on(rate(sample, server, CLIENTS)));
        }
        let row = Row {
            name: format!("{} on all cores", sample.name),
            unit: Unit::PerSecond,
            ours: Series::new("over HTTP", &ours[1..]),
            other: Some(Series::new("xargs", &bare[1..])),
            bound: Bound::AtLeastTimes(work.at_least_times),
        };
        rows.push(row.clone());
        // It is there to be seen: nothing is asked of it.
        rows.push(Row {
            name: format!("{}, in namespaces", row.name),
            other: Some(Series::new("xargs of unshare", &apart[1..])),
            bound: Bound::Nothing,
            ..row
        });
    }
    let python = Sample::named(WORK[0].sample);
    rows.push(crowds(async |clients| rate(&python, server, clients).await));
    rows
}

/// The worst number of clients beside the best, each measured in turn with the
/// others: a machine has slower moments.
fn crowds(rate: impl AsyncFn(usize) -> f64) -> Row {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut rates = CROWDS.map(|clients| (clients, Vec::new()));
    for _ in 0..ROUNDS {
        for (clients, rates) in &mut rates {
            rates.push(runtime.block_on(rate(*clients)));
        }
    }
    let series = rates.map(|(clients, rates)| {
        Series::new(&format!("{clients} clients"), &rates)
    });
    let by_middle =
        |one: &&Series, other: &&Series| one.p50.total_cmp(&other.p50);
    Row {
        name: "python hello, 2 to 64 clients".to_owned(),
        unit: Unit::PerSecond,
        ours: series.iter().min_by(by_middle).unwrap().clone(),
        other: series.iter().max_by(by_middle).cloned(),
        bound: Bound::AtLeastTimes(0.9),
    }
}

/// Runs a second of a stock command, one for each core at once.
fn xargs(stock: &Stock, command: &str) -> f64 {
    let cores = std::thread::available_parallelism().unwrap();
    let mut count = 32_u32;
    loop {
        let begun = Instant::now();
        stock.run(&format!(
            "export apart=\"{UNSHARE}\"\n\
             seq {count} | xargs -P{cores} -I{{}} sh -c '{command}' 2>lines\n\
             [ $(wc -l <lines) = {count} ]"
        ));
        let time = begun.elapsed();
        if time * 2 >= TIME {
            return f64::from(count) / time.as_secs_f64();
        }
        count *= 2;
    }
}

/// Runs a second of the service, with so many clients that each send the next
/// request when they have the answer to the last.
async fn rate(sample: &Sample, server: Asked, clients: usize) -> f64 {
    let begun = Instant::now();
    let request: Arc<str> = sample.request("0").into();
    let expected: Arc<str> = sample.stdout.clone().unwrap().into();
    let mut set = JoinSet::new();
    for number in 0..clients {
        let (request, expected) = (Arc::clone(&request), Arc::clone(&expected));
        set.spawn(async move {
            let mut count = 0_u32;
            while begun.elapsed() < TIME {
                let stdout = run(server.address, number, &request).await;
                assert_eq!(stdout, *expected);
                count += 1;
            }
            count
        });
    }
    let counts: Vec<u32> = set.join_all().await;
    f64::from(counts.iter().sum::<u32>()) / begun.elapsed().as_secs_f64()
}

/// A run for a client that is an address of its own: one client alone has
/// only half of the boxes.
pub(crate) async fn run(
    server: SocketAddr,
    client: usize,
    request: &str,
) -> String {
    let last = u8::try_from(client + 1).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 1, last), 0).into()).unwrap();
    let mut stream = socket.connect(server).await.unwrap();
    let head = format!(
        "POST /api/compile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        request.len()
    );
    stream.write_all((head + request).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let reply = Reply::read(&mut &answer[..]);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["stdout"].as_str().unwrap().to_owned()
}
