-- What autokernel 0.1.0 with schema 8 wrote (2026-11-28), in this folder:
-- autokernel tune ./twice --device sim:recording.json --evals 3 --seed 1 --threads 1
BEGIN TRANSACTION;
CREATE TABLE calls (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES runs (id),
  generation INTEGER NOT NULL,
  started TEXT NOT NULL,
  model TEXT NOT NULL,
  system TEXT NOT NULL,
  brief TEXT NOT NULL,
  state TEXT NOT NULL,
  reply TEXT,
  finish TEXT,
  fault TEXT,
  error TEXT,
  request_id TEXT,
  proposals TEXT,
  attempts INTEGER NOT NULL,
  elapsed_ns INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_usd REAL,
  replayed INTEGER NOT NULL
) STRICT;
CREATE TABLE environments (
  hash TEXT PRIMARY KEY,
  words TEXT,
  first_seen TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "environments" VALUES('ed42b10186b2d2a136e984e4d50f25e2','{"name":"a processor","backend":"host","recording":"71a5751b9c2a4c72a2d2ca4a5ce0a9c3","source":"ad45b98ddc687edfe69e5396a657ea1d","autokernel":"0.1.0","threads":1,"numerics":false}','2026-11-28T13:46:06.352Z');
CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  started TEXT NOT NULL,
  ended TEXT,
  kernel TEXT NOT NULL,
  implementation TEXT NOT NULL,
  device TEXT NOT NULL,
  size TEXT NOT NULL,
  dtype TEXT NOT NULL,
  choices TEXT NOT NULL,
  strategy TEXT,
  environment TEXT REFERENCES environments (hash),
  options TEXT,
  result TEXT,
  imported INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "runs" VALUES(1,'011bb4114b2ce8af','1970-01-01T00:00:00.000Z','1970-01-01T00:00:00.213Z','twice','host','sim:a processor','n=1024','f32','','portfolio','ed42b10186b2d2a136e984e4d50f25e2','{"kernel":"twice","implementation":"host","device":"sim:a processor","size":"n=1024","dtype":"f32","choices":"","allow_numerics":false,"threads":1,"seed":1,"strategy":"portfolio","evaluations":3,"seconds":0.0,"target_speedup":0.0,"resume":false,"recording":"recording.json"}','{"kernel":"twice","implementation":"host","device":"sim:a processor","devices":"sim:a processor","size":"n=1024","dtype":"f32","choices":"","objective":"time","checked_against":null,"seed":1,"evaluated":3,"resumed":0,"failed":{"invalid":0,"compile_error":0,"launch_error":0,"wrong_result":0,"crashed":0,"timed_out":0,"out_of_memory":0,"rejected":0},"seconds":0.213,"stopped_by":"evaluations","best":{"config":{"UNROLL":64},"ms":0.002,"ci_ms":[0.002,0.002],"tflops":0.000512,"gbs":4.096,"efficiency":0.0,"bound":"compute","speedup":null,"trial":2},"roofline":{"bound":"compute","cache":false,"flops":1024.0,"bytes":8192.0,"intensity":0.125,"peak_tflops":null,"bandwidth_gbs":null,"memory_gbs":null,"cache_gbs":null,"l1_gbs":null,"compute_ms":null,"memory_ms":null,"tflops":0.000512,"gbs":4.096,"efficiency":null,"compute_utilisation":null,"bandwidth_utilisation":null},"baseline":null,"contestants":[],"reference":null,"verdict":null,"summary":null,"noise":null,"warnings":[],"llm":null,"run":"011bb4114b2ce8af"}',0);
CREATE TABLE sources (
  hash TEXT PRIMARY KEY,
  files BLOB NOT NULL,
  first_seen TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE studies (
  id INTEGER PRIMARY KEY,
  ended TEXT NOT NULL,
  kind TEXT NOT NULL,
  result TEXT NOT NULL
) STRICT;
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  run TEXT,
  timestamp TEXT NOT NULL,
  kernel TEXT NOT NULL,
  implementation TEXT NOT NULL,
  device TEXT NOT NULL,
  size TEXT NOT NULL,
  dtype TEXT NOT NULL,
  choices TEXT NOT NULL,
  config TEXT NOT NULL,
  environment TEXT,
  strategy TEXT,
  model TEXT,
  generation INTEGER NOT NULL,
  parent INTEGER REFERENCES trials (id),
  predicted_gain REAL NOT NULL,
  hypothesis TEXT,
  status TEXT NOT NULL,
  reason TEXT,
  propose_ns INTEGER NOT NULL,
  compile_ns INTEGER NOT NULL,
  check_ns INTEGER NOT NULL,
  measure_ns INTEGER NOT NULL,
  overhead_ns INTEGER NOT NULL,
  samples_ms BLOB,
  ms REAL,
  ci_low_ms REAL,
  ci_high_ms REAL,
  max_error REAL,
  registers INTEGER NOT NULL,
  shared_bytes INTEGER NOT NULL,
  spill_bytes INTEGER NOT NULL,
  occupancy REAL NOT NULL,
  tflops REAL,
  gbs REAL,
  efficiency REAL,
  bound TEXT,
  measured_on TEXT,
  device_uuid TEXT,
  sm_clock_mhz REAL,
  memory_clock_mhz REAL,
  power_watts REAL,
  temperature_celsius REAL,
  throttle TEXT,
  utilisation REAL,
  compile_worker INTEGER NOT NULL,
  compiled_before_ns INTEGER NOT NULL,
  joules REAL,
  joules_low REAL,
  joules_high REAL,
  code_bytes INTEGER NOT NULL,
  cost REAL,
  cost_low REAL,
  cost_high REAL,
  code_hash TEXT,
  checksum INTEGER,
  FOREIGN KEY (run) REFERENCES runs (id),
  FOREIGN KEY (environment) REFERENCES environments (hash)
) STRICT;
INSERT INTO "trials" VALUES(1,'011bb4114b2ce8af','1970-01-01T00:00:00.071Z','twice','host','sim:a processor','n=1024','f32','','UNROLL=4','ed42b10186b2d2a136e984e4d50f25e2','default',NULL,0,NULL,0.0,NULL,'ok',NULL,0,0,0,71000000,0,X'FA7E6ABC7493683F',0.003,0.003,0.003,0.0,0,0,0,0.0,3.41333333333333299817e-04,2.73066666666666657548e+00,NULL,'compute',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,1261282648277849174);
INSERT INTO "trials" VALUES(2,'011bb4114b2ce8af','1970-01-01T00:00:00.142Z','twice','host','sim:a processor','n=1024','f32','','UNROLL=64','ed42b10186b2d2a136e984e4d50f25e2','portfolio',NULL,0,NULL,0.0,NULL,'ok',NULL,0,0,0,71000000,0,X'FCA9F1D24D62603F',0.002,0.002,0.002,0.0,0,0,0,0.0,0.000512,4.096,NULL,'compute',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,-7933824957534559471);
INSERT INTO "trials" VALUES(3,'011bb4114b2ce8af','1970-01-01T00:00:00.213Z','twice','host','sim:a processor','n=1024','f32','','UNROLL=1','ed42b10186b2d2a136e984e4d50f25e2','portfolio',NULL,0,NULL,0.0,NULL,'ok',NULL,0,0,0,71000000,0,X'FCA9F1D24D62703F',0.004,0.004,0.004,0.0,0,0,0,0.0,0.000256,2.048,NULL,'compute',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,-8341231941407215764);
CREATE INDEX trials_by_task ON trials (kernel, device, size, dtype, choices, implementation, environment);
CREATE INDEX trials_by_run ON trials (run);
CREATE INDEX trials_by_config ON trials (config);
CREATE INDEX runs_by_task ON runs (kernel, device, size, dtype, choices);
CREATE INDEX calls_by_run ON calls (run);
PRAGMA application_id = 1095450962;
PRAGMA user_version = 8;
COMMIT;
